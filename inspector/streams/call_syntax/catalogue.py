"""The syntaxes, in the order in which a shared opener is tried."""

import re

from inspector.streams.call_syntax import arg_pairs, fenced, harmony, pythonic, react, special_tokens, tool_tags, xml_invoke
from inspector.streams.call_syntax.arg_pairs import Pairs
from inspector.streams.call_syntax.base import NAME, CallSyntax, Parser, Sort
from inspector.streams.call_syntax.json_in_tags import Form, Reader, keyed, named
from inspector.streams.call_syntax.json_in_tags import parser as _objects
from inspector.streams.call_syntax.xml_invoke import tags

_TOKENS, _TAGS, _LOOSE = Sort.TOKENS, Sort.TAGS, Sort.LOOSE
_PLAIN = named()


def _json(opener: str, closer: str = "", read: Reader = _PLAIN, *, listed: str = "no", between: str = "", python: bool = False) -> Parser:
    return _objects(Form(re.compile(opener), re.compile(closer) if closer else None, read, listed, between, python))


def _dsml(names: str, space: str) -> Parser:
    name = f"｜DSML｜{space}"
    return xml_invoke.parser(tags(name, f"<{name}(?:{names})>", outer_end=f"</{name}(?:{names})>", json_body=True))


def _either(first: Parser, second: Parser) -> Parser:
    return lambda text, at, tools: first(text, at, tools) or second(text, at, tools)


_MISTRAL = "[TOOL_CALLS]"
_ANTHROPIC = "antml:"
_HARMONY = (
    "<|start|>assistant",
    "<|channel|>",
    "commentary to=",
    "analysis to=",
    "to=functions.",
    "assistantcommentary to=",
    "assistantanalysis to=",
)

_V4 = _either(_dsml("tool_calls", ""), _dsml("tool_calls|calls", " "))
_LFM2 = _either(pythonic.between_tokens, _json(r"<\|tool_call_start\|>", r"<\|tool_call_end\|>", listed="yes"))
_STEP3 = xml_invoke.parser(
    tags(
        "steptml:",
        "<｜tool_calls_begin｜>",
        needed=False,
        outer_end="<｜tool_calls_end｜>",
        head=rf'<｜tool_call_begin｜>\s{{0,20}}function\s{{0,20}}<｜tool_sep｜>\s{{0,20}}<steptml:invoke name="(?P<name>{NAME})">',
        end=r"</steptml:invoke>\s{0,20}<｜tool_call_end｜>",
    )
)
_LEGACY = _either(
    xml_invoke.parser(tags(_ANTHROPIC, f"<{_ANTHROPIC}function_calls>", needed=False)),
    xml_invoke.legacy(tags("", "<function_calls>", needed=False)),
)


CALL_SYNTAXES: tuple[CallSyntax, ...] = (
    CallSyntax(
        "D01",
        "JSON in tool_call tags",
        "Hermes, Qwen 2.5",
        ("<tool_call",),
        _json(r"<tool_call>", r"</tool_call>"),
        note="arguments may be a JSON string; some write `parameters`",
    ),
    CallSyntax(
        "D02",
        "function and parameter tags",
        "Qwen3-Coder, MiMo, Step 3.5, Nanbeige",
        ("<tool_call", "<function="),
        xml_invoke.parser(xml_invoke.FUNCTION),
        note="the tool_call tags may be missing; values are typed by the schema",
    ),
    CallSyntax(
        "D03",
        "key and value tags on lines",
        "GLM 4.5 and 4.6, Ling 3, Poolside, Spark 2.5",
        ("<tool_call",),
        arg_pairs.parser(Pairs("tool_call", lines=True)),
        note="same opener as D01: what follows it decides",
    ),
    CallSyntax(
        "D04",
        "key and value tags in one line",
        "GLM 4.7 and 5",
        ("<tool_call",),
        arg_pairs.parser(Pairs("tool_call", lines=False)),
        note="without arguments no more than a name in tags: needs a declared name",
    ),
    CallSyntax("D05", "IQuest's key and value tags", "IQuest-Q1", ("<iquest_tool_call",), arg_pairs.parser(Pairs("iquest_tool_call"))),
    CallSyntax(
        "D06",
        "wrapped key and value tags",
        "Hunyuan HY3 and HY4",
        ("<tool_calls",),
        arg_pairs.parser(Pairs("tool_call", "tool_calls", needed=True)),
        note="tags may carry a suffix; HY4 has no tool_sep",
    ),
    CallSyntax(
        "D07",
        "DeepSeek's tokens with a JSON fence",
        "DeepSeek V3 and R1",
        special_tokens.DEEPSEEK_OPENERS,
        special_tokens.deepseek_v3,
        _TOKENS,
        note="bars are U+FF5C, lines U+2581; folded to ASCII they are read too",
    ),
    CallSyntax(
        "D08", "DeepSeek's tokens with JSON", "DeepSeek V3.1", special_tokens.DEEPSEEK_OPENERS, special_tokens.deepseek_v31, _TOKENS
    ),
    CallSyntax(
        "D09",
        "DSML function_calls",
        "DeepSeek V3.2",
        ("<｜DSML｜function_calls>",),
        _dsml("function_calls", ""),
        _TOKENS,
        note="each parameter says whether it is text; the body may be JSON",
    ),
    CallSyntax(
        "D10",
        "DSML tool_calls",
        "DeepSeek V4 and V4.1",
        ("<｜DSML｜tool_calls>", "<｜DSML｜ "),
        _V4,
        _TOKENS,
        note="V4.1 has a space inside of the tags",
    ),
    CallSyntax(
        "D11",
        "GCML tool_calls",
        "GigaChat 3.5",
        ("<｜GCML｜tool_calls>",),
        xml_invoke.parser(tags("｜GCML｜", "<｜GCML｜tool_calls>")),
        _TOKENS,
    ),
    CallSyntax(
        "D12",
        "function_call token with JSON",
        "GigaChat 3",
        ("<|function_call|>", "function call<|role_sep|>"),
        _json(r"<\|function_call\|>|function call<\|role_sep\|>"),
        _TOKENS,
        note="the JSON is the end",
    ),
    CallSyntax(
        "D13",
        "Kimi's tool call section",
        "Kimi K2",
        ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_call_begin|>"),
        special_tokens.kimi_k2,
        _TOKENS,
        True,
        "the name is in the id; a bare counter gives none",
    ),
    CallSyntax(
        "D14",
        "open and close tokens",
        "Kimi K3",
        ("<|open|>tools", "<|open|>call"),
        special_tokens.kimi_k3,
        _TOKENS,
        True,
        "the id is an index",
    ),
    CallSyntax(
        "D15",
        "python_tag with JSON",
        "Llama 3",
        ("<|python_tag|>",),
        _json(r"<\|python_tag\|>", read=named(ignored=frozenset({"type"})), between=";", python=True),
        _TOKENS,
        note="several are parted by `;`; dicts of Python are read too; without the token only as the whole text, with a declared name",
        whole=fenced.bare_json,
    ),
    CallSyntax(
        "D16",
        "a list of Python calls",
        "Llama 4, OLMo",
        ("<|python_start|>",),
        pythonic.between_tokens,
        _TOKENS,
        note="without tokens only as the whole text, with declared names",
        whole=pythonic.bare,
    ),
    CallSyntax("D17", "Python calls between tool_call tokens", "LFM2", ("<|tool_call_start|>",), _LFM2, _TOKENS, note="or a JSON array"),
    CallSyntax(
        "D18",
        "TOOL_CALLS with a JSON array",
        "Mistral up to v11",
        (_MISTRAL,),
        _json(r"\[TOOL_CALLS\]", read=named(id_="id"), listed="yes"),
        _TOKENS,
        True,
        "ids have 9 characters",
    ),
    CallSyntax(
        "D19",
        "TOOL_CALLS, name and ARGS",
        "Mistral from v11 on",
        (_MISTRAL,),
        special_tokens.mistral_args,
        _TOKENS,
        True,
        "an older variant gives the id",
    ),
    CallSyntax(
        "D20",
        "harmony",
        "gpt-oss",
        _HARMONY,
        harmony.parse,
        _TOKENS,
        note="`to=` before or after the channel; without tokens it needs a declared name",
    ),
    CallSyntax("D21", "JSON in tool_calls tags", "MiniMax M1", ("<tool_calls",), _json(r"<tool_calls>", r"</tool_calls>", between="\n")),
    CallSyntax("D22", "MiniMax's invoke tags", "MiniMax M2", ("<minimax:tool_call>",), xml_invoke.parser(tags("", "<minimax:tool_call>"))),
    CallSyntax(
        "D23",
        "namespace tokens before tags",
        "MiniMax M3",
        ("]<]minimax[>[",),
        xml_invoke.namespaced,
        _TOKENS,
        note="a parameter's tag is its name; lists and objects are not read",
    ),
    CallSyntax("D24", "steptml tags", "Step 3", ("<｜tool_calls_begin｜>", "<｜tool_call_begin｜>"), _STEP3, _TOKENS),
    CallSyntax(
        "D25",
        "plugin action",
        "InternLM",
        ("<|action_start|>",),
        _json(r"<\|action_start\|>\s{0,20}<\|plugin\|>", r"<\|action_end\|>"),
        _TOKENS,
    ),
    CallSyntax(
        "D26",
        "call: with bare keys",
        "Gemma 4",
        ("<|tool_call>",),
        special_tokens.gemma,
        _TOKENS,
        note="a token replaces the quotes of texts",
    ),
    CallSyntax(
        "D27",
        "START_ACTION",
        "Cohere Command",
        ("<|START_ACTION|>",),
        _json(r"<\|START_ACTION\|>", r"<\|END_ACTION\|>", named("tool_name", ("parameters",), "tool_call_id"), listed="maybe"),
        _TOKENS,
        True,
    ),
    CallSyntax(
        "D28",
        "names as keys",
        "Apertus",
        ("<|tools_prefix|>",),
        _json(r"<\|tools_prefix\|>", r"<\|tools_suffix\|>", keyed, listed="yes"),
        _TOKENS,
    ),
    CallSyntax(
        "D29",
        "ifm tags",
        "K2-V3",
        ("<ifm|tool_calls>",),
        arg_pairs.parser(Pairs("tool_call", "tool_calls", "ifm|", needed=True)),
        _TOKENS,
        note="a parameter may say its type",
    ),
    CallSyntax(
        "D30",
        "dots' invoke tags",
        "dots",
        ("<dots_function_call>",),
        xml_invoke.parser(tags("", "<dots_function_call>", json_body=True)),
        note="the body may be JSON",
    ),
    CallSyntax(
        "D31",
        "function and param tags",
        "MiniCPM5",
        ("<function name=",),
        xml_invoke.parser(
            tags(
                "",
                None,
                needed=False,
                head=rf'<function name="(?P<name>{NAME})">',
                end="</function>",
                parameter=r'<param name="(?P<name>[A-Za-z0-9_.:-]{1,128})">',
                parameter_end="</param>",
                markup=r"<param\b",
                cdata=True,
            )
        ),
        _LOOSE,
        note="documents of interfaces look like it: needs a declared name",
    ),
    CallSyntax(
        "D32",
        "content_invoke_tool_json",
        "Inkling",
        ("<|message_model|>",),
        _json(rf"<\|message_model\|>\s{{0,20}}({NAME})<\|content_invoke_tool_json\|>", r"<\|end_message\|>", named("name", ("args",))),
        _TOKENS,
    ),
    CallSyntax(
        "D33",
        "atem tags",
        "Muse",
        ("<atem:function_calls>",),
        xml_invoke.parser(tags("atem:", "<atem:function_calls>", doubled=True)),
        note="a name that is its own namespace (`f.f`) is read as `f`",
    ),
    CallSyntax(
        "D34",
        "Anthropic's old XML",
        "Claude 2 and 3, and models taught by them",
        ("<function_calls>", "<invoke", f"<{_ANTHROPIC}function_calls>", f"<{_ANTHROPIC}invoke"),
        _LEGACY,
        note="the wrapper may be lost; the oldest form has the names in tags",
    ),
    CallSyntax(
        "D36",
        "toolbridge's wrapper",
        "models prompted by toolbridge",
        ("<toolbridge_calls>", "<toolbridge:calls>"),
        tool_tags.in_wrapper,
        note="child tag is the tool, numbers and booleans are converted",
    ),
    CallSyntax(
        "D35",
        "a tag for each tool",
        "Cline, Roo and models prompted by them",
        (),
        tool_tags.direct,
        _LOOSE,
        note="only with declared names",
    ),
    CallSyntax("D37", "ReAct", "models prompted for it", ("Action:",), react.parse, _LOOSE, note="an `Observation:` after it is synthetic"),
    CallSyntax(
        "D38",
        "a fence of JSON or tool_code",
        "any",
        (),
        fenced.fence,
        _LOOSE,
        note="only as the whole text, with a declared name",
        whole=fenced.fence,
    ),
)

BY_ID = {syntax.id: syntax for syntax in CALL_SYNTAXES}
