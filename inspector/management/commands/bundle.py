"""Seals one conversation with its evidence into a file."""

import hashlib
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inspector.actions.seal_bundle import origin_of, seal_case, seal_imported
from inspector.environment import os_user
from inspector.management.answering import AnsweringCommand
from inspector.management.target import Chosen, Target, add_target_arguments, load
from inspector.presentation.visible import size
from inspector.programs.formats import Stored
from inspector.sources import folders, reading
from inspector.sources.places import place
from inspector.sources.problems import shown


class Command(AnsweringCommand):
    """`bundle TARGET --out FILE [--exact]`; `import_source FILE` opens it again, anywhere."""

    help = "Seals a conversation (rows, archive, trace, findings, repairs) into one zip with digests, which import_source opens again; it is never written back."
    reveal_help = "seal every byte as it is stored; without it secrets are masked, and the digests of the originals are kept"

    def declare(self, parser: CommandParser) -> None:
        add_target_arguments(parser)
        parser.add_argument("--out", metavar="FILE", required=True, help="the new file, for example evidence.zip; one that is there stays")

    def answer(self, options: dict[str, Any]) -> None:
        if not options["out"]:
            raise CommandError("Name the new file after --out, for example evidence.zip.")
        target = load(options)
        chosen, out, masked = target.one(), Path(options["out"]), not options["reveal"]
        # With traces of the command line the conversation is more than what the database knows of it.
        if chosen.row is not None and not options["traces"]:
            data = seal_imported(chosen.row, masked, os_user())
        else:
            data = _sealed(target, chosen, masked)
        folders.write_new(out, data)
        sha256 = hashlib.sha256(data).hexdigest()
        if options["json"]:
            self.say_json({"out": options["out"], "conversation": chosen.oid, "masked": masked, "bytes": len(data), "sha256": sha256})
            return
        secrets = (
            "secrets masked where they are recognized (--exact keeps them)"
            if masked
            else "secrets as they are stored: look before you share it"
        )
        self.say(f"Sealed {chosen.oid} in {shown(options['out'], 4096)}: {size(len(data))}, {secrets}.")
        self.say(f"sha256 {sha256}")


def _sealed(target: Target, chosen: Chosen, masked: bool) -> bytes:
    origin = origin_of(target.real_path, target.format, chosen.taken_at, chosen.reader, chosen.projection, chosen.profile)

    def find(native_id: str) -> Stored | None:
        return reading.read_one(place(target.path), chosen.format, native_id)

    return seal_case(chosen.oid, chosen.case(), chosen.stored, origin, masked, find, [])
