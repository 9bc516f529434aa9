"""The sample of a format is recognized as that format."""

import json
import re

import pytest

from inspector.presentation.catalogue.entries import formats
from inspector.programs.catalogue import FORMATS
from inspector.programs.formats import Shape
from inspector.programs.gbrain.format import GBRAIN
from inspector.streams.captures.base import CaptureKind
from inspector.streams.captures.catalogue import KINDS, sniffed
from inspector.traces import dispatch as dispatch_traces
from inspector.wires.detection import format_of
from inspector.wires.names import WIRES

SAMPLES = {entry["name"]: entry["sample"] for entry in formats()}


def shape_of(name: str) -> Shape:
    """What `sniff` gets to see of a source that is as the sample says."""
    kind, _, names = SAMPLES[name].partition(" ")
    if kind == "tables":
        tables = {table: tuple(columns.split(", ")) for table, columns in re.findall(r"(\w+)\(([^)]*)\)", names)}
        return Shape(tables=tables, served=name == GBRAIN.name)
    if kind == "files":
        return Shape(files=tuple(names.split(", ")))
    if kind == "zip":
        return Shape(head=b"PK\3\4" + bytes(26) + names.encode())
    return Shape(head=f"{SAMPLES[name]}\n".encode())


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_that_is_json_is_whole(name: str) -> None:
    assert SAMPLES[name]
    if SAMPLES[name].startswith(("{", "[")):
        json.loads(SAMPLES[name])


@pytest.mark.parametrize("name", [format_.name for format_ in FORMATS if format_.name not in WIRES])
def test_the_sample_of_a_store_is_recognized_as_its_format_first(name: str) -> None:
    sure = {other.name: other.sniff(shape_of(name)) for other in FORMATS}
    assert sure[name] > 0.6 and max(sure, key=sure.__getitem__) == name


@pytest.mark.parametrize("name", WIRES)
def test_the_sample_of_a_request_is_recognized(name: str) -> None:
    assert format_of(SAMPLES[name].encode()) == name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_sample_of_a_capture_is_recognized(kind: CaptureKind) -> None:
    assert sniffed(lambda: iter([kind.sample.encode()])) == kind


def test_the_samples_of_traces_are_recognized() -> None:
    assert dispatch_traces.sniff(shape_of(dispatch_traces.NAME)) == 1.0
    assert dispatch_traces.sniff_journal(shape_of(dispatch_traces.JOURNAL)) > 0.9
