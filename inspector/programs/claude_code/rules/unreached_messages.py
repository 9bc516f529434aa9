"""TREE205: messages on a branch that a resume does not read: lost, or left on purpose?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.conversation.queries import span_text
from inspector.conversation.tree import Entry, entries
from inspector.programs.claude_code.chain import Chain, chain_of, chunks_of, has_words, name, split_tree
from inspector.programs.claude_code.facts import NOT_TYPED
from inspector.programs.claude_code.leaf import is_left_by_hand
from inspector.programs.claude_code.path import has_results_only
from inspector.programs.claude_code.rules.repeated_line_id import words_of
from inspector.programs.claude_code.versions import CHAIN, known_defects
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded
from inspector.text.counted import counted
from inspector.text.durations import duration


@dataclass(frozen=True, slots=True)
class Branch:
    """`messages` in the order of the file, the first one at its top; `fork` is the line of the path that it leaves (None: it has a root of its own),
    `live` the line with which the path goes on there."""

    messages: list[Entry]
    fork: Entry | None
    live: Entry


def check(case: Case) -> Iterator[Match]:
    chain = chain_of(case)
    if not any(entry.index >= 0 for entry in chain.path):
        return
    by_hand = is_left_by_hand(entries(split_tree(case)), chain.lines)
    lost: list[tuple[Branch, str]] = []
    left: list[Branch] = []
    all_branches = list(branches(chain))
    unlinked = [branch for branch in all_branches if branch.fork is None]
    if any(not has_words(branch.messages[0]) for branch in unlinked):
        yield _unlinked(chain, unlinked)
        all_branches = [branch for branch in all_branches if branch.fork is not None]
    for branch in all_branches:
        why = "" if by_hand else _suspicion(branch)
        if why:
            lost.append((branch, why))
        else:
            left.append(branch)
    yield from bounded(_match(chain, branch, why) for branch, why in lost)
    if left:
        messages = sorted((entry for branch in left for entry in branch.messages), key=lambda entry: entry.index)
        where = "Another branch holds" if len(left) == 1 else f"{len(left):,} other branches hold"
        why = (
            f"the person went back to {name(chain.path[-1])} before the session ended"
            if by_hand
            else "where the path goes on, the user said something else later, as after a rewind"
        )
        yield Match(
            chunks_of(messages),
            f"{where} {counted(len(messages), 'message')} (seq {span_text([entry.chunks[0].seq for entry in messages])}), which a resume does not send: {why}; {chain.reach}.",
            severity=Severity.NOTE,
            evidence=tuple(_evidence(branch) for branch in left[:8]),
        )


def _unlinked(chain: Chain, unlinked: Sequence[Branch]) -> Match:
    """No session begins with an answer or a result: a writer left out the parents, and the order of the lines says what follows what."""
    messages = sorted((entry for branch in unlinked for entry in branch.messages), key=lambda entry: entry.index)
    return Match(
        chunks_of(messages),
        f"{counted(len(messages), 'message')} (seq {span_text([entry.chunks[0].seq for entry in messages])}) hang below lines that name no parent, answers and results among them, with which no session begins: "
        f"a resume does not send them; {chain.reach}.",
    )


def branches(chain: Chain) -> Iterator[Branch]:
    """Those since the compaction with which the path begins that somebody said something on. What a lost parent, a loop, a shared line or a stale
    parent hides is reported by the rules of those."""
    if chain.stale is not None:
        return
    first = chain.oldest_segment
    top_of: dict[int, Entry | None] = {}
    tops: dict[int, tuple[Entry, list[Entry]]] = {}
    for entry in chain.messages:
        if entry.index in chain.on_path or chain.segments[entry.index] < first or chain.by_id[entry.id] is not entry:
            continue
        if top := _top(chain, entry, top_of):
            tops.setdefault(top.index, (top, []))[1].append(entry)
    lives = _lives(chain)
    for top, messages in tops.values():
        fork = chain.parent(top)
        live = lives.get(fork.index if fork is not None else None)
        if live is None or words_of(top) == words_of(live) or not (fork is None or any(_says(entry) for entry in messages)):
            continue
        yield Branch(messages, fork, live)


def _top(chain: Chain, entry: Entry, top_of: dict[int, Entry | None]) -> Entry | None:
    """The uppermost line of the branch; None where the way up is cut. `top_of` gathers those of the lines that are walked over, so that each is once."""
    walked: list[int] = []
    at, top = entry, None
    while at.index not in top_of:
        walked.append(at.index)
        # Of a loop there is none.
        top_of[at.index] = None
        parent = chain.parent(at)
        if parent is None or parent.index in chain.on_path:
            top = at if parent is not None or at.parent is None else None
            break
        at = parent
    else:
        top = top_of[at.index]
    top_of.update(dict.fromkeys(walked, top))
    return top


def _lives(chain: Chain) -> dict[int | None, Entry]:
    """By the index of each line of the path, the message with which the path goes on after it; None: the first one, where that has a root of its own."""
    lives: dict[int | None, Entry] = {}
    following: Entry | None = None
    for entry in reversed(chain.path):
        if following is not None:
            lives[entry.index] = following
        following = entry if entry.chunks[0].role else following
    if following is not None and following.parent is None:
        lives[None] = following
    return lives


def _says(entry: Entry) -> bool:
    """Whether it is more than what the program itself put there: commands, their output, and results that are on the path too. A line without content says nothing."""
    words = "".join(chunk.text for chunk in entry.chunks)
    is_empty = all("empty" in chunk.payload for chunk in entry.chunks)
    return (
        not is_empty and not has_results_only(entry) and entry.about.get("isMeta") is not True and not words.lstrip().startswith(NOT_TYPED)
    )


def _suspicion(branch: Branch) -> str:
    """Why the branch seems to be lost; "" where it seems to have been left on purpose."""
    last, live = branch.messages[-1].chunks[0].at, branch.live.chunks[0].at
    if not any(has_words(entry) and _says(entry) for entry in branch.messages):
        # An answer that was broken off, and given again.
        return ""
    if last is not None and live is not None and last > live:
        return "it was still written to after the path had gone on elsewhere, as when two processes have the session open"
    if not has_words(branch.live):
        return "the path goes on with an answer or a result, and not with words of the user, as it does after a rewind"
    return ""


def _match(chain: Chain, branch: Branch, why: str) -> Match:
    seqs = span_text([entry.chunks[0].seq for entry in branch.messages])
    where = f"leaves the path after {name(branch.fork)}" if branch.fork else "has a root of its own"
    readings = (
        ("lost", why),
        ("on purpose", "a rewind or a fork leaves the messages after it on a branch that stays in the file"),
    )
    return Match(
        chunks_of(branch.messages),
        f"{counted(len(branch.messages), 'message')} (seq {seqs}) {'is' if len(branch.messages) == 1 else 'are'} on a branch that {where}, and a resume does not send them: {why}; {chain.reach}.",
        evidence=(*readings, _evidence(branch), *known_defects(branch.live.about.get("version"), CHAIN)),
    )


def _evidence(branch: Branch) -> tuple[str, str]:
    first, last, live = branch.messages[0], branch.messages[-1], branch.live
    start, end, on = first.chunks[0].at, last.chunks[0].at, live.chunks[0].at
    begins = "words of the user" if has_words(live) else "an answer or a result"
    what = f"ends with {name(last)}; the path goes on with {begins}"
    if start is None or end is None or on is None:
        return f"branch of {name(first)}", what
    return f"branch of {name(first)}", f"{what}, {duration(abs(on - end))} {'after its end' if on >= end else 'before its end'}"


RULE = Rule(
    code="TREE205",
    state="CC14",
    name="unreached-messages",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="messages are on a branch that a resume does not read",
    why=(
        "A resume reads the chain of parents from the last message. A rewind leaves what comes after it on another branch, on purpose; two processes that have one session "
        "open, or a line that was hung below an old one, hide messages in the same way. Both readings are given, and what in the file speaks for each."
    ),
    example=(
        "@format claude-code\n1 user 1.0 text go entry=u1\n2 assistant 2.0 text hi entry=a1\n3 user 3.0 text one entry=u2 parent=a1\n"
        "4 user 4.0 text two entry=u3 parent=a1"
    ),
    check=check,
    references=("anthropics/claude-code #22526, #46603, #58554", "formats/claude_code_codex.md 1.6"),
    no_repair_reason="Both branches are whole, and joining them would put words in an order in which nobody said them: choose the last message of the other branch as the leaf of a repair, which writes it as a session of its own.",
    fixed_in_code="Read the end of the file again before a line is hung below a message.",
)
