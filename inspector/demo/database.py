"""The demo's gbrain: a database in a private PostgreSQL that runs while somebody uses it, or the same jobs as an export where none can be started."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.core.management.base import CommandError
from psycopg.conninfo import conninfo_to_dict

from inspector.demo import gbrain_incident, private_postgres
from inspector.demo.private_postgres import CannotStart
from inspector.models import Source
from inspector.programs.gbrain.format import GBRAIN
from inspector.sources.places import is_dsn, place
from inspector.sources.problems import SourceProblem
from inspector.sources.reading import read

DATABASE = "gbrain"


@contextmanager
def loaded(folder: Path, fresh: bool) -> Iterator[tuple[str, bool]]:
    """The address of the database, and whether it was filled just now. Raises CannotStart, and CommandError where it is not the demo's."""
    refuse_foreign(folder)
    with private_postgres.running(folder):
        where = private_postgres.address(folder, DATABASE)
        databases = private_postgres.databases(folder)
        if databases and not _is_ours(where, databases):
            raise CommandError(f"{folder} is not the demo's database alone and stays as it is: name another --folder, or move it away.")
        is_new = fresh or not databases
        if is_new:
            private_postgres.load(folder, DATABASE, gbrain_incident.script())
        yield where, is_new


def refuse_foreign(folder: Path) -> None:
    """Raises CommandError where there is something other than a server of ours."""
    if folder.exists() and not private_postgres.is_private(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise CommandError(f"{folder} is not the demo's folder and stays as it is: name another --folder, or move it away.")


def _is_ours(where: str, databases: list[str]) -> bool:
    """Whatever was repaired in its jobs: a repair adds none."""
    if databases != [DATABASE]:
        return False
    try:
        content = read(place(where), GBRAIN.name)
    except SourceProblem:
        return False
    return {stored.conversation.native_id for stored in getattr(content, "conversations", ())} == gbrain_incident.DEMO_JOBS


@contextmanager
def served() -> Iterator[list[str]]:
    """Runs the databases of the demos that were imported; what it gives are sentences about those that do not run."""
    with ExitStack() as stack:
        sentences = []
        for folder in _folders():
            try:
                stack.enter_context(private_postgres.running(folder))
            except CannotStart as problem:
                sentences.append(f"The demo's PostgreSQL is not running ({problem}): its jobs are shown as they were imported.")
        yield sentences


def _folders() -> list[Path]:
    paths = Source.objects.filter(is_demo=True, format=GBRAIN.name).values_list("path", flat=True)
    hosts = [str(conninfo_to_dict(path).get("host") or "") for path in paths if is_dsn(path)]
    return [Path(host) for host in hosts if host.startswith("/") and private_postgres.is_private(Path(host))]
