"""Random append histories and random damage to them, the same for the same seed."""

import json
from itertools import chain
from random import Random
from typing import Any

from inspector.text.jsontext import compact
from tests.programs.dispatch.appended_stores import Block, Said, Store, appended, er, img, sy, tc, th, tr, tx

TEXTS = (
    "ok",
    "",
    " spaces on both sides ",
    'look alike","role":"user","msgIdx":0,"chunkIdx":0}',
    '{"chunk":{"type":"text","text":"x"},"role":"user","msgIdx":7,"chunkIdx":9}',
    "lone \ud800 surrogate",
    "\udfff",
    "pair 😀 and Ünïcode \u2028 \u00a0",
    "nul \x00 and \x7f and \x1b[31m",
    "line\nbreak\r\n\ttab",
    "a = b # c #! TOOL101 payload={}",
    "@counter 1",
    "-",
    "<function=run_shell>",
    "I look.\n<function=ls>\n<parameter=path>/</parameter>\n</function>",
    "<function=head>\n<parameter=lines>7</parameter>\n</function>",
    "```\n<function=run>\n```",
    "\\u0023 \\ud800 \\",
    "x" * 300,
)
INPUTS: tuple[Any, ...] = (
    {},
    {"path": "/", "n": 1.0},
    {"big": 10**30, "e": 1e21, "tiny": 1e-7, "minus": -0.0},
    {"2": 1, "b": 2, "1": 3},
    '{"parses":true}',
    "{does not: parse}",
    [[[]], None, True],
    None,
    5,
    {"nested": {"role": "user", "msgIdx": 3, "chunkIdx": 4}},
)
ROLES = ("user", "assistant", "tool", "system")


def history(random: Random) -> list[list[Said]]:
    """The appends of one conversation: turns as the program appends them, in either era, among appends of anything."""
    names = (f"call_{number}" for number in range(10**6))
    step = f"turn-1782600000000-{random.randrange(36**3)}#0"
    parts = (_turn, _turn, _batch, _anything, _anything, _user_only)
    return list(chain.from_iterable(random.choice(parts)(random, names, step) for _ in range(random.randint(1, 4))))


def _turn(random: Random, names: Any, step: str) -> list[list[Said]]:
    calls, results = _calls(random, names, step)
    words = _words(random)
    if not words and not calls:
        words = [th(random.choice(TEXTS))]
    asked = [Said("assistant", (*words, *calls))]
    return [[Said("user", (tx(random.choice(TEXTS)),))], [*asked, *results], [Said("assistant", tuple(_words(random)))]]


def _batch(random: Random, names: Any, step: str) -> list[list[Said]]:
    return [list(chain.from_iterable(_turn(random, names, step)))]


def _user_only(random: Random, names: Any, step: str) -> list[list[Said]]:
    return [[Said("user", (tx(random.choice(TEXTS)),))]]


def _block(random: Random, names: Any, step: str) -> Block:
    text = random.choice(TEXTS)
    calls, _ = _calls(random, names, step)
    return random.choice((tx(text), th(text), sy(text), er(text), er(text, "401"), img(text), *calls[:1]))


def _anything(random: Random, names: Any, step: str) -> list[list[Said]]:
    return [
        [
            Said(random.choice(ROLES), tuple(_block(random, names, step) for _ in range(random.randint(0, 4))))
            for _ in range(random.randint(0, 4))
        ]
    ]


def _words(random: Random) -> list[Block]:
    return [random.choice((tx, tx, th, er))(random.choice(TEXTS)) for _ in range(random.randint(0, 3))]


def _calls(random: Random, names: Any, step: str) -> tuple[list[Block], list[Said]]:
    """Calls, some of one id, and the results that came back, one message each."""
    ids = [random.choice((next(names), next(names), next(names), "", "call_0")) for _ in range(random.randint(0, 3))]
    at = random.choice((None, step))
    calls = [tc(id, "ls", random.choice(INPUTS), at) for id in ids]
    for call in calls:
        call["input"] = random.choice(INPUTS)
    return calls, [Said("tool", (tr(id, random.choice(TEXTS), step=at),)) for id in ids if random.random() < 0.8]


def store(random: Random) -> Store:
    made = appended(*history(random))
    for key in [key for key in made.values if ":chunk:" in key and random.random() < 0.1]:
        made.values[key] = _respaced(random, made.values[key])
    return made


def _respaced(random: Random, text: str) -> str:
    """The same row by another writer: spaces, another key order, a member more, a key twice."""
    row = json.loads(text)
    members = [*row.items(), ("extra", {"msgIdx": 99})]
    random.shuffle(members)
    if random.random() < 0.5:
        members.insert(0, ("msgIdx", 77))
    inner = ", ".join(f"{compact(name)} : {json.dumps(value)}" for name, value in members)
    return f" {{{inner}}}\n"


DAMAGE = (
    "{not json",
    "null",
    "[]",
    "{}",
    '{"chunk":null,"role":"user","msgIdx":0,"chunkIdx":0}',
    '{"chunk":{"type":"video","url":"x"},"role":"assistant","msgIdx":0,"chunkIdx":1}',
    '{"chunk":{"type":"text"},"role":"assistant","msgIdx":0,"chunkIdx":0}',
    '{"chunk":{"type":"text","text":"x"},"role":"robot","msgIdx":0,"chunkIdx":0}',
    '{"chunk":{"type":"text","text":"x"},"role":"user","chunkIdx":0}',
    '{"chunk":{"type":"text","text":"x"},"role":"user","msgIdx":-1,"chunkIdx":0}',
    '{"chunk":{"type":"text","text":"x"},"role":"user","msgIdx":0}',
)


def damage(random: Random, made: Store) -> Store:
    """Rows overwritten or gone, a counter that is wrong or missing, no meta, no index."""
    values = dict(made.values)
    for key in [key for key in values if ":chunk:" in key]:
        chance = random.random()
        if chance < 0.08:
            values[key] = random.choice(DAMAGE)
        elif chance < 0.14:
            del values[key]
    counter = random.choice((None, "x", "1", "9999999999", "0", values["conv:c1:seq"], values["conv:c1:seq"]))
    values |= {"conv:c1:seq": counter} if counter is not None else {}
    for key in (["conv:c1:seq"] if counter is None else []) + [key for key in ("conv:c1:meta", "conv-index") if random.random() < 0.2]:
        del values[key]
    return Store(values)
