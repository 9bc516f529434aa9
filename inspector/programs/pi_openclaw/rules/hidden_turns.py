"""TREE104: messages of the user on a branch that is not on the live path."""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.conversation.queries import span_text
from inspector.conversation.tree import LEAF, Entry, spoken
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.programs.pi_openclaw.rules.session_tree import SETTINGS, Tree, chunks_of, is_user, name, tops, tree_of, whole
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded
from inspector.text.counted import counted


@dataclass(frozen=True, slots=True)
class Branch:
    """`turns` are the messages of the user that nothing after the `fork` repeats; `live` is the first entry of the path after it."""

    entries: list[Entry]
    turns: list[Entry]
    fork: Entry | None
    live: Entry | None


def branches(case: Case, tree: Tree) -> Iterator[Branch]:
    """Those that leave the path, or begin at a root of their own. What a lost parent or a cycle hides is TREE101's to TREE103's."""
    if tree.path and not tree.path[-1].id:
        # No path leads to such a row, nor from it: TREE107 says so.
        return
    place = {entry.index: number for number, entry in enumerate(tree.path)}
    bound = max((entry.index for entry in tree.path if entry.type == "reset"), default=-1)
    last_places = {_words(entry): number for number, entry in enumerate(tree.path) if is_user(entry)}
    lives = _lives(tree)
    for top, branch_entries in tops(tree).items():
        first = tree.all[top]
        fork = tree.parent(first)
        if (fork is None and first.parent is not None) or (fork is not None and fork.index not in place):
            continue
        if fork is None and (not tree.path or tree.path[0].parent is not None):
            continue
        next_place = place[fork.index] + 1 if fork else 0
        # A repair that writes the end of a path again leaves the old one as a branch that says the same.
        turns = [
            entry for entry in branch_entries if is_user(entry) and entry.index > bound and last_places.get(_words(entry), -1) < next_place
        ]
        if turns:
            yield Branch(branch_entries, turns, fork, lives[next_place])


def _lives(tree: Tree) -> list[Entry | None]:
    """By place on the path: the first entry from there on that says something to the model."""
    lives: list[Entry | None] = [None]
    for entry in reversed(tree.path):
        lives.append(lives[-1] if entry.type in SETTINGS else entry)
    return lives[::-1]


def _words(entry: Entry) -> str:
    return "\n".join(chunk.text for chunk in entry.chunks)


def _suspicion(branch: Branch, last_chosen: int) -> str:
    """Why nobody seems to have left the branch on purpose; "" where somebody may have."""
    last = branch.entries[-1]
    if last_chosen > last.index or branch.live is None:
        return ""
    if last.index > branch.live.index:
        return "it was still written to after the live branch had begun, as when two programs have the session open"
    if branch.live.type == "message" and branch.live.about.get("role") in ("assistant", "toolResult"):
        return "the live branch does not begin with words of the user, as it does where somebody went back"
    return ""


def check(case: Case) -> Iterator[Match]:
    tree = tree_of(case)
    # A leaf that somebody chose, in the file or here, hides what it hides on purpose.
    last_chosen = max((entry.index for entry in tree.all if entry.type == "leaf"), default=-1)
    if whole(case).fact(LEAF) is not None:
        last_chosen = len(tree.all)
    lost: list[Match] = []
    deliberate: list[Branch] = []
    for branch in branches(case, tree):
        if why := _suspicion(branch, last_chosen):
            lost.append(_match(tree, branch, why))
        else:
            deliberate.append(branch)
    yield from bounded(lost)
    if deliberate:
        turns = sorted((turn for branch in deliberate for turn in branch.turns), key=lambda entry: entry.index)
        where = "Another branch holds" if len(deliberate) == 1 else f"{len(deliberate):,} other branches hold"
        yield Match(
            chunks_of(turns),
            f"{where} {counted(len(turns), 'message')} of the user (seq {span_text([turn.chunks[0].seq for turn in turns])}), which no request of this path says; {tree.reach}.",
            severity=Severity.NOTE,
            evidence=tuple(_ending(branch) for branch in deliberate[:8]),
        )


def _match(tree: Tree, branch: Branch, why: str) -> Match:
    seqs = span_text([turn.chunks[0].seq for turn in branch.turns])
    from_ = f"leaves the path after {name(branch.fork)}" if branch.fork else "begins at a root of its own"
    return Match(
        chunks_of(branch.turns),
        f"{counted(len(branch.turns), 'message')} of the user (seq {seqs}) {'is' if len(branch.turns) == 1 else 'are'} on a branch that {from_}: {why}; {tree.reach}.",
        evidence=(_ending(branch), *effects("hidden")),
    )


def _ending(branch: Branch) -> tuple[str, str]:
    last = branch.entries[-1]
    messages = sum(entry.type == "message" for entry in branch.entries)
    return (
        f"leaf {spoken(last.id[:40], last.chunks[0].msg_idx) if last.id else 'without id'}",
        f"{counted(messages, 'message')}, the last at seq {last.chunks[-1].seq}",
    )


RULE = Rule(
    code="TREE104",
    state="OP4",
    name="hidden-turns",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="messages of the user are on a branch that no request sees",
    why=(
        "A session has one live path, which ends in its last line. Two programs that have one session open each write to a leaf of their own, and the one that wrote last "
        "hides what was said to the other. Where somebody went back and took another way it is meant to be so: that is only noted."
    ),
    example=(
        "@format pi\n1 user 1.0 text go entry=u1\n2 assistant 2.0 text hi entry=a1\n3 user 3.0 text one entry=u2 parent=a1\n"
        "4 user 4.0 text two entry=u3 parent=a1\n5 assistant 5.0 text A entry=a2 parent=u2\n6 assistant 6.0 text B entry=a3 parent=u3"
    ),
    check=check,
    references=("pi: no lock on session files; two processes on one file, measured", "openclaw/openclaw #4553", "openclaw/openclaw #64287"),
    no_repair_reason="Both branches are whole: open the session at the other leaf, or fork it there; joining them would put words in an order in which nobody said them.",
    fixed_in_code="Lock a session while it is open, or read the file's end again before something is hung below a leaf.",
)
