"""One call in each spelling of each syntax, and what it says: `f` with the parameter `x`, unless the syntax needs more."""

from dataclasses import dataclass, field
from typing import Any

TOOLS = ("f", "g", "search", "read_file")
_A = "ant" + "ml:"


@dataclass(frozen=True)
class Spelling:
    """`cuts` are ends of its text after which it is known to be a call that broke off; `alone`: it is a call only where it is the whole text."""

    syntax: str
    text: str
    arguments: dict[str, Any] = field(default_factory=lambda: {"x": 1})
    name: str = "f"
    call_id: str = ""
    guessed: tuple[str, ...] = ()
    pair: str = ""
    """Two calls in one wrapper."""
    cuts: tuple[str, ...] = ()
    alone: bool = False
    needs_tools: bool = False
    title: str = ""


TEXT_1: dict[str, Any] = {"arguments": {"x": "1"}, "guessed": ("x",)}
_DSML = '<｜DSML｜invoke name="f"><｜DSML｜parameter name="x" string="false">1</｜DSML｜parameter></｜DSML｜invoke>'
_SPACED = '<｜DSML｜ invoke name="f"><｜DSML｜ parameter name="x" string="false">1</｜DSML｜ parameter></｜DSML｜ invoke>'
_V3 = '<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"x":1}\n```\n<｜tool▁call▁end｜>'
_V31 = '<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"x":1}<｜tool▁call▁end｜>'
_STEP = '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="f"><steptml:parameter name="x">1</steptml:parameter></steptml:invoke><｜tool_call_end｜>'
_KIMI = '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"x":1}<|tool_call_end|>'
_K3 = '<|open|>call tool="f" index="1"<|sep|><|open|>argument key="x" type="number"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|>'
_INVOKE = '<invoke name="f"><parameter name="x">1</parameter></invoke>'
_M3 = ']<]minimax[>[<invoke name="f">]<]minimax[>[<x>1]<]minimax[>[</x>]<]minimax[>[</invoke>'
_HY = "<tool_call>f<tool_sep><arg_key>x</arg_key><arg_value>1</arg_value></tool_call>"
_IFM = "<ifm|tool_call>f<ifm|arg_key>x</ifm|arg_key><ifm|arg_value>1</ifm|arg_value></ifm|tool_call>"
_COHERE = '{"tool_call_id":"0","tool_name":"f","parameters":{"x":1}}'
_MISTRAL = '{"name": "f", "arguments": {"x": 1}, "id": "abc123DEF"}'

SPELLINGS = (
    Spelling("D01", '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>', cuts=("<tool_call>", '"f", ', '"x": ', "}}")),
    Spelling("D01", '<tool_call>{"name": "f", "arguments": "{\\"x\\": 1}"}</tool_call>', title="arguments as a JSON string"),
    Spelling("D01", '<tool_call>{"name": "f", "parameters": {"x": 1}}</tool_call>', title="parameters for arguments"),
    Spelling(
        "D02",
        "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>",
        **TEXT_1,
        cuts=("<function=f>", "<parameter=x>", "1\n", "</parameter>", "</function>"),
    ),
    Spelling(
        "D02",
        "<function=f>\n<parameter=x>\na < b </p>\n</parameter>\n</function>",
        {"x": "a < b </p>"},
        title="without the outer tags, a value with <",
    ),
    Spelling(
        "D03",
        "<tool_call>f\n<arg_key>x</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
        **TEXT_1,
        cuts=("<arg_key>x", "<arg_value>1", "</arg_value>"),
    ),
    Spelling(
        "D04",
        "<tool_call>f<arg_key>x</arg_key><arg_value>v</arg_value></tool_call>",
        {"x": "v"},
        cuts=("<arg_key>x", "<arg_value>", "</arg_value>"),
    ),
    Spelling("D04", "<tool_call>f</tool_call>", {}, needs_tools=True, title="without arguments"),
    Spelling(
        "D05",
        "<iquest_tool_call>f<arg_key>x</arg_key><arg_value>1</arg_value></iquest_tool_call>",
        **TEXT_1,
        cuts=("<iquest_tool_call>f<arg_key>", "<arg_value>1"),
    ),
    Spelling(
        "D06",
        f"<tool_calls>{_HY}</tool_calls>",
        **TEXT_1,
        pair=f"<tool_calls>{_HY}{_HY}</tool_calls>",
        cuts=("<tool_sep>", "<arg_value>1", "</tool_call>"),
    ),
    Spelling("D06", f"<tool_calls>{_HY.replace('<tool_sep>', '')}</tool_calls>", **TEXT_1, title="without tool_sep"),
    Spelling(
        "D06",
        "<tool_calls:x1><tool_call:x1>f<tool_sep:x1><arg_key:x1>x</arg_key:x1><arg_value:x1>1</arg_value:x1></tool_call:x1></tool_calls:x1>",
        **TEXT_1,
        title="with a suffix",
    ),
    Spelling(
        "D07",
        f"<｜tool▁calls▁begin｜>{_V3}<｜tool▁calls▁end｜>",
        pair=f"<｜tool▁calls▁begin｜>{_V3}\n{_V3}<｜tool▁calls▁end｜>",
        cuts=("```json", '{"x":', '{"x":1}', "<｜tool▁call▁end｜>"),
    ),
    Spelling("D07", f"<｜tool▁calls▁begin｜>{_V3}<｜tool▁calls▁end｜>".replace("｜", "|").replace("▁", "_"), title="folded to ASCII"),
    Spelling(
        "D08",
        f"<｜tool▁calls▁begin｜>{_V31}<｜tool▁calls▁end｜>",
        pair=f"<｜tool▁calls▁begin｜>{_V31}{_V31}<｜tool▁calls▁end｜>",
        cuts=("<｜tool▁calls▁begin｜>", "f<｜tool▁sep｜>", '{"x":', "<｜tool▁call▁end｜>"),
    ),
    Spelling(
        "D09",
        f"<｜DSML｜function_calls>{_DSML}</｜DSML｜function_calls>",
        pair=f"<｜DSML｜function_calls>{_DSML}\n{_DSML}</｜DSML｜function_calls>",
        cuts=("<｜DSML｜function_calls>", 'name="f">', "1", "</｜DSML｜invoke>"),
    ),
    Spelling(
        "D09", '<｜DSML｜function_calls><｜DSML｜invoke name="f">{"x":1}</｜DSML｜invoke></｜DSML｜function_calls>', title="a body of JSON"
    ),
    Spelling(
        "D10",
        f"<｜DSML｜tool_calls>{_DSML}</｜DSML｜tool_calls>",
        pair=f"<｜DSML｜tool_calls>{_DSML}{_DSML}</｜DSML｜tool_calls>",
        cuts=('name="f">', "1"),
    ),
    Spelling("D10", '<｜DSML｜tool_calls><｜DSML｜invoke name="f"/></｜DSML｜tool_calls>', {}, title="without arguments"),
    Spelling("D10", f"<｜DSML｜ calls>{_SPACED}</｜DSML｜ calls>", title="V4.1"),
    Spelling(
        "D11",
        '<｜GCML｜tool_calls><｜GCML｜invoke name="f"><｜GCML｜parameter name="x" string="true">1</｜GCML｜parameter></｜GCML｜invoke></｜GCML｜tool_calls>',
        {"x": "1"},
        cuts=('name="f">', 'string="true">', "</｜GCML｜invoke>"),
    ),
    Spelling("D12", '<|function_call|>{"name":"f","arguments":{"x":1}}', cuts=("<|function_call|>", '"arguments":')),
    Spelling("D12", 'function call<|role_sep|>\n{"name":"f","arguments":{"x":1}}', title="the other opener"),
    Spelling(
        "D13",
        f"<|tool_calls_section_begin|>{_KIMI}<|tool_calls_section_end|>",
        call_id="functions.f:0",
        pair=f"<|tool_calls_section_begin|>{_KIMI}{_KIMI}<|tool_calls_section_end|>",
        cuts=("<|tool_calls_section_begin|>", "argument_begin|>", '{"x":', "<|tool_call_end|>"),
    ),
    Spelling("D13", _KIMI, call_id="functions.f:0", title="without the section"),
    Spelling(
        "D13", f"<|tool_call_section_begin|>{_KIMI}<|tool_call_section_end|>", call_id="functions.f:0", title="the section in the singular"
    ),
    Spelling(
        "D14",
        f"<|open|>tools<|sep|>{_K3}<|close|>tools<|sep|>",
        call_id="1",
        pair=f"<|open|>tools<|sep|>{_K3}{_K3}<|close|>tools<|sep|>",
        cuts=("tools<|sep|>", 'index="1"<|sep|>', 'type="number"<|sep|>1', "<|close|>call<|sep|>"),
    ),
    Spelling(
        "D14",
        '<|open|>call tool="f" index="2"<|sep|><|open|>argument key="a&amp;&quot;" type="string"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|>',
        {'a&"': "1"},
        call_id="2",
        title="escaped attributes",
    ),
    Spelling(
        "D15",
        '<|python_tag|>{"name": "f", "parameters": {"x": 1}}',
        pair='<|python_tag|>{"name": "f", "parameters": {"x": 1}}; {"name": "f", "parameters": {"x": 1}}',
        cuts=("<|python_tag|>", '"parameters": '),
    ),
    Spelling("D15", "<|python_tag|>{'name': 'f', 'parameters': {'x': True}}", {"x": True}, title="quoted as Python does"),
    Spelling("D15", '{"name": "f", "parameters": {"x": 1}}', alone=True, needs_tools=True, cuts=('"parameters": {',), title="bare"),
    Spelling(
        "D16",
        "<|python_start|>[f(x=1)]<|python_end|>",
        pair="<|python_start|>[f(x=1), f(x=1)]<|python_end|>",
        cuts=("f(", "x=1", "[f(x=1)]"),
    ),
    Spelling("D16", "[f(x=1)]", pair="[f(x=1), f(x=1)]", alone=True, needs_tools=True, cuts=("[f(x=",), title="bare"),
    Spelling(
        "D17",
        "<|tool_call_start|>[f(x=1)]<|tool_call_end|>",
        pair="<|tool_call_start|>[f(x=1), f(x=1)]<|tool_call_end|>",
        cuts=("f(", "[f(x=1)]"),
    ),
    Spelling("D17", '<|tool_call_start|>[{"name": "f", "arguments": {"x": 1}}]<|tool_call_end|>', title="a JSON array"),
    Spelling(
        "D18",
        f"[TOOL_CALLS] [{_MISTRAL}]",
        call_id="abc123DEF",
        pair=f"[TOOL_CALLS] [{_MISTRAL}, {_MISTRAL}]",
        cuts=("[TOOL_CALLS] [", '"x": ', "1}, "),
    ),
    Spelling("D19", '[TOOL_CALLS]f[ARGS]{"x": 1}', cuts=("f[ARGS]", '{"x": ')),
    Spelling("D19", '[TOOL_CALLS]f[CALL_ID]abc123DEF[ARGS]{"x": 1}', call_id="abc123DEF", title="with an id"),
    Spelling(
        "D20",
        '<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"x":1}<|call|>',
        cuts=("to=functions.f", "<|message|>", '{"x":', "1}"),
    ),
    Spelling(
        "D20", '<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"x":1}<|call|>', title="addressed before the channel"
    ),
    Spelling("D20", 'commentary to=functions.f json{"x":1}', needs_tools=True, title="tokens stripped"),
    Spelling(
        "D21",
        '<tool_calls>\n{"name":"f","arguments":{"x":1}}\n</tool_calls>',
        pair='<tool_calls>\n{"name":"f","arguments":{"x":1}}\n{"name":"f","arguments":{"x":1}}\n</tool_calls>',
        cuts=('"arguments":', "}}"),
    ),
    Spelling(
        "D22",
        f"<minimax:tool_call>{_INVOKE}</minimax:tool_call>",
        **TEXT_1,
        pair=f"<minimax:tool_call>{_INVOKE}\n{_INVOKE}</minimax:tool_call>",
        cuts=('name="f">', 'name="x">1', "</invoke>"),
    ),
    Spelling(
        "D23",
        f"]<]minimax[>[<tool_call>{_M3}]<]minimax[>[</tool_call>",
        **TEXT_1,
        pair=f"]<]minimax[>[<tool_call>{_M3}{_M3}]<]minimax[>[</tool_call>",
        cuts=('name="f">', "<x>1", "</x>"),
    ),
    Spelling(
        "D23",
        f"]<]minimax[>[ <tool_call>\n{_M3.replace('[<', '[ <')}]<]minimax[>[ </tool_call>",
        **TEXT_1,
        title="with blanks after the token",
    ),
    Spelling(
        "D24",
        f"<｜tool_calls_begin｜>{_STEP}<｜tool_calls_end｜>",
        **TEXT_1,
        pair=f"<｜tool_calls_begin｜>{_STEP}{_STEP}<｜tool_calls_end｜>",
        cuts=('name="f">', ">1"),
    ),
    Spelling(
        "D25", '<|action_start|> <|plugin|>\n{"name": "f", "parameters": {"x": 1}}<|action_end|>', cuts=("<|plugin|>\n", '"x": ', "}}")
    ),
    Spelling("D26", '<|tool_call>call:f{x:1,s:<|"|>v<|"|>}<tool_call|>', {"x": 1, "s": "v"}, cuts=("call:f{", "x:1", '<|"|>}')),
    Spelling(
        "D26",
        '<|tool_call>call:f{a:[1,true,{b:<|"|>c:"{}\n<tool_call|><|"|>}]}<tool_call|>',
        {"a": [1, True, {"b": 'c:"{}\n<tool_call|>'}]},
        title="nested, with its own marks in a text",
    ),
    Spelling(
        "D27",
        f"<|START_ACTION|>[{_COHERE}]<|END_ACTION|>",
        call_id="0",
        pair=f"<|START_ACTION|>[{_COHERE},{_COHERE}]<|END_ACTION|>",
        cuts=("[", '"x":', "}}]"),
    ),
    Spelling(
        "D28",
        '<|tools_prefix|>[{"f": {"x": 1}}]<|tools_suffix|>',
        pair='<|tools_prefix|>[{"f": {"x": 1}}, {"f": {"x": 1}}]<|tools_suffix|>',
        cuts=("[", "}}]"),
    ),
    Spelling(
        "D29",
        f"<ifm|tool_calls>{_IFM}</ifm|tool_calls>",
        **TEXT_1,
        pair=f"<ifm|tool_calls>{_IFM}{_IFM}</ifm|tool_calls>",
        cuts=("f<ifm|arg_key>", ">1"),
    ),
    Spelling(
        "D29",
        f"<ifm|tool_calls>{_IFM.replace('<ifm|arg_value>', '<ifm|arg_type>integer</ifm|arg_type><ifm|arg_value>')}</ifm|tool_calls>",
        title="with a type",
    ),
    Spelling("D30", f"<dots_function_call>{_INVOKE}</dots_function_call>", **TEXT_1, cuts=('name="f">', ">1", "</invoke>")),
    Spelling("D30", '<dots_function_call><invoke name="f">{"x": 1}</invoke></dots_function_call>', title="a body of JSON"),
    Spelling("D31", '<function name="f"><param name="x">1</param></function>', **TEXT_1, needs_tools=True, cuts=('name="x">1',)),
    Spelling(
        "D31", '<function name="f"><param name="x"><![CDATA[</b> 1]]></param></function>', {"x": "</b> 1"}, needs_tools=True, title="CDATA"
    ),
    Spelling(
        "D32",
        '<|message_model|>f<|content_invoke_tool_json|>{"name":"f","args":{"x":1}}<|end_message|>',
        cuts=("tool_json|>", '"x":', "}}"),
    ),
    Spelling(
        "D33",
        '<atem:function_calls><atem:invoke name="f"><atem:parameter name="x">1</atem:parameter></atem:invoke></atem:function_calls>',
        **TEXT_1,
        cuts=('name="f">', ">1"),
    ),
    Spelling(
        "D33",
        '<atem:function_calls><atem:invoke name="f.f"><atem:parameter name="x">v</atem:parameter></atem:invoke></atem:function_calls>',
        {"x": "v"},
        title="a doubled name",
    ),
    Spelling(
        "D34",
        f"<function_calls>{_INVOKE}</function_calls>",
        **TEXT_1,
        pair=f"<function_calls>\n{_INVOKE}\n{_INVOKE}\n</function_calls>",
        cuts=('name="f">', ">1", "</invoke>"),
    ),
    Spelling(
        "D34",
        f"<function_calls>{_INVOKE}</function_calls>".replace("</", "<#").replace("<", f"<{_A}").replace(f"<{_A}#", f"</{_A}"),
        **TEXT_1,
        title="with a prefix",
    ),
    Spelling("D34", _INVOKE, **TEXT_1, cuts=('name="f">', ">1"), title="without its wrapper"),
    Spelling(
        "D34",
        "<invoke><tool_name>f</tool_name><parameters><x>1</x></parameters></invoke>",
        **TEXT_1,
        cuts=("<parameters>", "<x>1"),
        title="the oldest form",
    ),
    Spelling("D35", "<read_file>\n<path>a</path>\n</read_file>", {"path": "a"}, "read_file", needs_tools=True, cuts=("<path>a",)),
    Spelling(
        "D36",
        "<toolbridge_calls><search><query>q</query></search></toolbridge_calls>",
        {"query": "q"},
        "search",
        pair="<toolbridge_calls><search><query>q</query></search>\n<search><query>q</query></search></toolbridge_calls>",
        cuts=("<toolbridge_calls>", "<query>q", "</search>"),
    ),
    Spelling(
        "D36", "<toolbridge:calls><search><query>q</query></search></toolbridge:calls>", {"query": "q"}, "search", title="with a colon"
    ),
    Spelling(
        "D36",
        "<toolbridge_calls><search><p>1</p><b>TRUE</b><l>a</l><l>&lt;b&gt;</l><h><i>x</i></h><c><![CDATA[<&amp;]]></c></search></toolbridge_calls>",
        {"p": 1, "b": True, "l": ["a", "<b>"], "h": "<i>x</i>", "c": "<&amp;"},
        "search",
        title="conversions",
    ),
    Spelling("D37", 'Action: f\nAction Input: {"x": 1}', needs_tools=True, cuts=("Action Input: ", '{"x": ')),
    Spelling("D38", '```json\n{"name":"f","arguments":{"x":1}}\n```', alone=True, needs_tools=True, cuts=('"arguments":{',)),
    Spelling("D38", "```tool_code\nf(x=1)\n```", alone=True, needs_tools=True, title="tool_code"),
)
