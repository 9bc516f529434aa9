"""A stream that was ended too early, as a person walks it: from the inbox to the terminal, its bytes, and the corrected capture. With and without script."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from inspector.actions.import_source import import_targets
from inspector.demo.stream_incident import PREMATURE, capture_files
from inspector.models import Stream
from inspector.streams.captures import own
from inspector.streams.model import Side
from tests.streams.golden.script import END, EOF, Golden, b, c, raw
from tests.streams.spoken import ROLE, finish, sse, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def premature(tmp_path: Path, transactional_db: None) -> Stream:
    for name, data in capture_files().items():
        (tmp_path / name).write_bytes(data)
    import_targets([str(tmp_path / name) for name in capture_files()], "tester", demo=True)
    return Stream.objects.get(native_id=PREMATURE)


def test_from_the_inbox_to_the_terminal_and_its_bytes(page: Page, live_server: LiveServer, premature: Stream) -> None:
    page.goto(live_server.url)
    page.get_by_role("link", name="captured streams").click()
    page.get_by_role("link", name="Ended behind the tool call").click()
    expect(page.locator("h1")).to_contain_text("the client got [DONE] at input 3 of 5")
    expect(page.locator("tr.error").first).to_contain_text("premature-terminal")
    page.locator("tr.error").first.get_by_role("link", name="error STREAM101").click()
    expect(page).to_have_url(f"{live_server.url}/streams/{premature.oid}/?side=client&at=2#e-client-2")
    expect(page.locator("#event")).to_contain_text("data: [DONE]")
    page.locator("#findings").get_by_role("link", name="next").click()
    expect(page.locator("#event h2")).to_have_text("Event 3 of the backend")
    with page.expect_download() as waiting:
        page.locator("#event").get_by_role("link", name="download").click()
    assert b"I have written the file" in Path(waiting.value.path()).read_bytes()


def test_filters_are_addresses(page: Page, live_server: LiveServer, premature: Stream) -> None:
    page.goto(f"{live_server.url}/streams/{premature.oid}/")
    assert page.locator("tr[id^=row-]").count() == 8
    page.get_by_label("findings only").check()
    if page.get_by_role("button", name="Show").is_visible():
        page.get_by_role("button", name="Show").click()
    expect(page.locator("tr[id^=row-]")).to_have_count(2)
    assert "only=findings" in page.url


def test_a_corrected_capture_is_downloaded_and_has_no_errors(
    page: Page, live_server: LiveServer, premature: Stream, tmp_path: Path
) -> None:
    page.goto(f"{live_server.url}/streams/{premature.oid}/")
    page.get_by_role("link", name="Correct a copy").click()
    expect(page.locator("h1")).to_contain_text("The stream as it should have been")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download the new capture").click()
    path = tmp_path / "corrected.capture.jsonl"
    path.write_bytes(Path(waiting.value.path()).read_bytes())
    import_targets([str(path)], "tester")
    page.goto(f"{live_server.url}/streams/{Stream.objects.get(native_id=f'{PREMATURE}-corrected').oid}/")
    expect(page.locator("#findings")).to_contain_text("No findings")


@pytest.mark.parametrize("hostile", [False, True])
def test_a_phone_shows_both_lanes_in_its_width(
    page: Page, live_server: LiveServer, premature: Stream, tmp_path: Path, hostile: bool
) -> None:
    stream = premature
    if hostile:
        record = sse(ROLE, text("W" * 5000), finish("F" * 300), {"error": {"message": "E" * 3000}})
        steps = [*raw(Side.BACKEND, record), *EOF, *c(ROLE, text("n" * 900)), *b(text("late")), *END]
        (tmp_path / "x.capture.jsonl").write_bytes(b"".join(own.written(Golden("i" * 900, steps, request={"model": "m" * 900}).exchange())))
        import_targets([str(tmp_path / "x.capture.jsonl")], "tester")
        stream = Stream.objects.get(source__path__endswith="/x.capture.jsonl")
    page.set_viewport_size({"width": 390, "height": 800})
    for rest in ("", "?side=backend&at=1", "corrected/"):
        page.goto(f"{live_server.url}/streams/{stream.oid}/{rest}")
        assert page.evaluate("document.documentElement.scrollWidth") == 390, rest
    page.goto(f"{live_server.url}/streams/")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
