"""The page of one finding, in the last revision that had it.

Of a large conversation it reads what is kept of the finding and of the rows that it names: a link to a finding is what people send each other.
"""

from dataclasses import dataclass
from datetime import datetime

from django.http import Http404, HttpResponse

from inspector.actions.examining import finding_ids
from inspector.actions.undo_repair import UNDOABLE
from inspector.conversation import notation
from inspector.conversation.model import Chunk
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Finding, Repair, Tombstone, analyses, loading
from inspector.planning.suggested import suggested
from inspector.presentation import markdown
from inspector.presentation.conversation import scan
from inspector.presentation.conversation.placed import ROLE_SHOWN, WORDS_SHOWN, PlacedChunk
from inspector.presentation.conversation.row_words import in_one_line
from inspector.presentation.conversation.whole import LARGE
from inspector.presentation.visible import beginning
from inspector.profiles.judging import judged
from inspector.rules.base import Case, Origin, Rule, Severity, findings
from inspector.rules.base import Finding as RuleFinding
from inspector.rules.catalogue import RULES
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import strategy
from inspector.views import facts
from inspector.views.conversation_list import forks_of, forks_with
from inspector.views.pages import absolute, as_json, as_markdown, origin_of, page, unless_unchanged
from inspector.views.problem_list import known_rule

CHUNKS_SHOWN = 30
_WORDS = 200
NO_SUCH_FINDING = "There is no finding with this id here: its conversation was never imported, or with another Inspector. The inbox lists what is open now."


@dataclass(frozen=True, slots=True)
class NamedChunk:
    """A chunk that a finding names. `more`: characters of its words that a row leaves out."""

    seq: int
    role: str
    msg_idx: int | None
    chunk_idx: int | None
    kind: str
    words: str
    more: int


@dataclass(frozen=True, slots=True)
class FindingPage:
    """A finding in the last revision that had it, as the reader that detected it has that revision."""

    oid: str
    conversation: Conversation
    row: Finding
    fate: str
    """What became of it; "" while it is open."""
    repair: Repair | None
    """The repair after which it was no longer detected."""
    finding: RuleFinding
    about: Rule
    chunks: tuple[NamedChunk, ...]
    repairs: tuple[Strategy, ...]
    stale_since: datetime | None = None
    """When it was judged, of a large conversation of which the rules or what is around it are others now."""


def _finding(oid: str) -> FindingPage | None:
    """None where no conversation has such a finding now. Raises Http404 for one that was purged and for the id that copies share: both are answered as for every link."""
    row = _row(oid)
    about = known_rule(row.code) if row else None
    if row is None or about is None:
        return None
    stored = _stored(row)
    finding, chunks = _computed(row) if stored is None else _kept(row, stored)
    fate, repair = _fate(row) if not row.is_open or row.conversation.is_replaced else ("", None)
    repairs = tuple(strategy(name) for name in finding.repaired_by) if row.is_open else ()
    stale_since = stored.written_at if stored is not None and stored.is_stale else None
    return FindingPage(oid, row.conversation, row, fate, repair, finding, about, chunks, repairs, stale_since)


def _row(oid: str) -> Finding | None:
    row = Finding.objects.select_related("conversation__source").filter(oid=oid).first()
    if row is None and (Tombstone.objects.filter(oid=oid).exists() or Finding.objects.filter(identity=oid).exclude(identity="").exists()):
        raise Http404
    return row


def is_kept(oid: str) -> bool:
    """Whether the page of a finding of a large conversation reads nothing of the conversation itself; also where there is no such finding."""
    row = Finding.objects.select_related("conversation__source").filter(oid=oid).first()
    return row is None or _stored(row) is not None


def _stored(row: Finding) -> analyses.Stored | None:
    """What is kept of a large conversation with this finding; None of all others."""
    conversation = row.conversation
    is_own = row.is_open and (row.reader or conversation.source.reader) == conversation.source.reader
    if not is_own or conversation.chunk_count < LARGE:
        return None
    stored = analyses.stored(conversation, analyses.own_ways(conversation))
    return stored if stored is not None and stored.number(row.oid) is not None else None


def _kept(row: Finding, stored: analyses.Stored) -> tuple[RuleFinding, tuple[NamedChunk, ...]]:
    """As `_computed`, as the page of the conversation has it."""
    number = stored.number(row.oid)
    assert number is not None
    finding = stored.suggested(number)
    blocks = {place for seq in finding.seqs[:CHUNKS_SHOWN] if (place := stored.reaching(seq)) is not None}
    rows = [placed for place in sorted(blocks) for placed in stored.block(place).rows]
    shown_seqs = set(finding.seqs[:CHUNKS_SHOWN])
    return finding, tuple(_named_row(placed) for placed in rows if placed.seq in shown_seqs)[:CHUNKS_SHOWN]


def _named_row(row: PlacedChunk) -> NamedChunk:
    words = f"{row.tool_name} {row.arguments}" if row.arguments else row.words or "(empty)"
    left = row.arguments_left if row.arguments else row.words_left
    return NamedChunk(row.seq, row.role, row.msg_idx, row.chunk_idx, row.kind, words, max(0, len(words) + left - _WORDS))


def _computed(row: Finding) -> tuple[RuleFinding, tuple[NamedChunk, ...]]:
    """The finding with the strategies that repair it here, and the first chunks that it names."""
    case, finding = _case_of(row)
    if row.is_open:
        (finding,) = suggested(case, [finding], loading.stored(row.conversation, row.revision))
    return finding, tuple(map(_named, _chunks(case, finding)))


def _case_of(row: Finding) -> tuple[Case, RuleFinding]:
    case = loading.case(row.conversation, row.reader or row.conversation.source.reader, row.revision)
    return case, dict(finding_ids(row.conversation.oid, findings(case, RULES))).get(row.oid) or _as_kept(row)


def _chunks(case: Case, finding: RuleFinding) -> tuple[Chunk, ...]:
    shown_seqs = set(finding.seqs[:CHUNKS_SHOWN])
    return tuple(chunk for chunk in case.conversation.chunks if chunk.seq in shown_seqs)[:CHUNKS_SHOWN]


def _named(chunk: Chunk) -> NamedChunk:
    words = in_one_line(chunk)
    role = beginning(chunk.role, ROLE_SHOWN)
    return NamedChunk(
        chunk.seq, role, chunk.msg_idx, chunk.chunk_idx, chunk.kind.value, beginning(words, WORDS_SHOWN), max(0, len(words) - _WORDS)
    )


def _as_kept(row: Finding) -> RuleFinding:
    """Of a finding that this version's rules would not report on the same bytes: what was reported then."""
    severity, origin = Severity(row.severity), Origin(row.origin)
    return RuleFinding(row.code, row.rule, severity, row.silent, origin, row.message, tuple(row.seqs), row.total, row.key, ())


def _fate(row: Finding) -> tuple[str, Repair | None]:
    """Why it is not found now, and the repair that did it."""
    conversation, next_one = row.conversation, row.revision + 1
    if row.is_open:
        fork = forks_of([conversation.pk]).get(conversation.pk)
        if fork is None:
            return "", None
        if forks_with(row.code, [fork]):
            sentence = "Carried on in a fork, which goes on in place of this conversation: the fork has it too, and it is counted there."
        else:
            sentence = "Repaired by a fork, which goes on in place of this conversation; here it is still found, and not counted."
        return sentence, fork.forked_by
    repairs = conversation.repairs.filter(revision=row.revision, state__in=UNDOABLE).order_by("applied_at")
    repair = next((done for done in repairs if not done.options.get("fork_id")), None)
    if repair is not None:
        return (
            f"Repaired: {', then '.join(repair.strategies)} was applied to revision {row.revision}, and revision {next_one} no longer has it.",
            repair,
        )
    changed = conversation.revisions.filter(number=next_one).first()
    if changed is not None:
        return (
            f"No longer found: the conversation changed, and revision {next_one}, read {changed.seen_at:%Y-%m-%d %H:%M:%S} UTC, does not have it.",
            None,
        )
    if row.reader and row.reader != conversation.source.reader:
        return f"No longer found: the source is read by {conversation.source.reader} now, and {row.reader} detected this.", None
    return "No longer found: the rules of this version of Inspector do not report it.", None


@unless_unchanged(facts.of_finding)
def finding(request: OperatorRequest, oid: str) -> HttpResponse:
    content = _finding(oid)
    if content is None:
        return page(request, "finding.html", {"problem": NO_SUCH_FINDING}, status=404)
    return page(request, "finding.html", content, twins=("json", "md"))


@unless_unchanged(facts.of_finding)
def finding_json(request: OperatorRequest, oid: str) -> HttpResponse:
    content = _finding(oid)
    if content is None:
        return as_json({"error": NO_SUCH_FINDING}, status=404)
    finding = content.finding
    more = {"evidence": [list(row) for row in finding.evidence]}
    now = {"revision": content.row.revision, "is_open": content.row.is_open, "fate": content.fate}
    now |= {"repair": content.repair.oid} if content.repair else {}
    return as_json({"id": oid, "conversation": content.conversation.oid, **now, **scan.finding_report(finding), **more})


@unless_unchanged(facts.of_finding)
def finding_md(request: OperatorRequest, oid: str) -> HttpResponse:
    content = _finding(oid)
    if content is None:
        return HttpResponse(NO_SUCH_FINDING + "\n", status=404, content_type="text/plain; charset=utf-8")
    row = content.conversation
    case, _ = _case_of(content.row)
    prompt, _ = judged(case.reading, case.conversation, row.judges[1], row.judges[0])
    report = scan.conversation_report(row.oid, case, [content.finding], {}, row.verdict, prompt)
    links = {
        "finding": absolute(request, f"/findings/{content.row.shared_id}/"),
        "conversation": absolute(request, f"/conversations/{row.shared_id}/{_at(content.row)}&finding={content.row.shared_id}"),
    }
    if content.repair:
        links["repair"] = absolute(request, f"/repairs/{content.repair.oid}/")
    text = markdown.finding_md(
        report, content.finding, [notation.dump_chunk(chunk) for chunk in _chunks(case, content.finding)], links, content.fate
    )
    command = ("scan", row.source.path, "--conversation", row.native_id, "--reader", content.row.reader or row.source.reader)
    return as_markdown(text + origin_of(row, content.row.revision, *command))


def _at(row: Finding) -> str:
    """The query that shows the revision and reader of a finding, whatever is newer."""
    return f"?rev={row.revision}&reader={row.reader or row.conversation.source.reader}"
