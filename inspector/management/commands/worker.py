"""Runs the jobs that other commands queue."""

from contextlib import nullcontext
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from inspector.management.queueing import jobs_module
from inspector.watcher import watching_sources


class Command(BaseCommand):
    """`worker [--until-empty]`; one job at a time, until it is interrupted: the job that runs is then finished."""

    help = "Runs queued jobs, one at a time, until it is interrupted (PostgreSQL only). Start one for each processor, on any number of machines."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--until-empty", action="store_true", help="end when no job waits or runs")
        parser.add_argument(
            "--heartbeat",
            type=float,
            default=10.0,
            metavar="SECONDS",
            help="how often this worker says that it is alive; the jobs of one that is silent three times as long go to others (default: 10)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        jobs = jobs_module()
        # One that ends when no job waits is no place to wait for changes.
        with nullcontext() if options["until_empty"] else watching_sources():
            jobs.work(options["until_empty"], options["heartbeat"])
