"""Answers of earlier commands about sessions that are as they were."""

import sys
from contextlib import AbstractContextManager

from django.conf import settings
from django.core.management.base import CommandParser

from inspector.programs.registry import programs
from inspector.sources import unchanged
from inspector.sources.scan_cache import NAME, ScanCache, scan_cache


def add_cache_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "--no-cache", action="store_true", help="look at every session again, also at those that are as they were, and keep no answer"
    )


def opened_cache(is_used: bool) -> AbstractContextManager[ScanCache]:
    """Next to our own database; `is_used`: else every answer is worked out."""
    return scan_cache(settings.VAR_DIR / NAME if is_used else None)


def question(*options: object) -> str:
    """What is asked of each session: by this code, with these options."""
    packages = {program.package.partition(".")[0] for program in programs()}
    return repr((sys.version, unchanged.code(("inspector", *sorted(packages - {"inspector"}))), options))
