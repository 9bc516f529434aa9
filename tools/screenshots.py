"""Draws the pictures of the documentation again, from the demo in a real browser: `make screenshots`."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from socket import gethostname

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "screenshots"
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


REFUSAL = "messages.5.content.3: thinking or redacted_thinking blocks in the latest assistant message cannot be modified"


HERE = """([host, folder]) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    texts.currentNode.textContent = texts.currentNode.textContent.replaceAll(folder, "/srv/agent").replaceAll(host + ":", "server:");
  }
}"""
"""A picture names no machine and no folder of whoever drew it."""


def draw(page: Page, base: str, token: str, folder: str) -> None:
    def shot(name: str, height: int = 900) -> None:
        page.wait_for_load_state()
        page.evaluate(HERE, [gethostname(), folder])
        page.set_viewport_size({"width": 1360, "height": height})
        page.screenshot(path=OUT / f"{name}.png")

    page.goto(f"{base}?token={token}")
    shot("inbox", 820)
    page.locator(".start-line a").first.click()
    page.goto(page.url.split("?")[0])
    shot("conversation", 1180)
    conversation = page.url
    page.locator("#details summary").click()
    page.get_by_role("link", name="See that request").click()
    shot("observed", 1180)
    page.goto(f"{conversation}trace/")
    shot("trace", 1100)
    page.goto(base)
    page.get_by_role("link", name="merged-messages").first.click()
    page.get_by_role("link", name="Repair all 3 conversations").click()
    page.get_by_label("Reason").fill("Every append counts its messages from 0, since the release of 2026-06-20")
    page.get_by_role("button", name="Propose 3 repairs").click()
    page.get_by_role("button", name="Approve 3 plans").wait_for()
    shot("group", 1000)
    page.goto(f"{conversation}repairs/new/?strategy=renumber-messages&mode=in-place")
    page.get_by_role("button", name="Propose this repair").click()
    shot("repair", 1100)
    page.goto(f"{base}explain/")
    page.get_by_label("The provider's error").fill(REFUSAL)
    page.get_by_role("button", name="Explain").click()
    page.get_by_role("link", name="Explain it with the crash").click()
    shot("explain", 1020)
    page.get_by_role("link", name="messages.5.content.3").first.click()
    page.wait_for_url("**/prompt/**")
    page.wait_for_load_state()
    page.evaluate("scrollTo(0, 0)")
    shot("prompt", 1080)
    page.goto(f"{base}conversations/?rule=TREE106")
    page.get_by_role("link", name="The nightly backup of the photos").first.click()
    page.goto(page.url.split("?")[0])
    shot("tree", 1000)
    page.goto(f"{base}streams/")
    page.get_by_role("link", name="Ended behind the tool call").first.click()
    shot("stream", 1420)
    page.goto(f"{base}conversations/?q=company+pulse+of+Sunday")
    page.get_by_role("link", name="Write the company pulse of Sunday").first.click()
    page.goto(page.url.split("?")[0])
    shot("ledger", 1120)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(conversation)
    page.screenshot(path=OUT / "phone.png")


def main() -> int:
    chromium = os.environ.get("INSPECTOR_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.stderr.write("There is no Chromium here: on Debian, apt-get install chromium.\n")
        return 2
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "INSPECTOR_DATABASE_URL": f"sqlite:///{folder}/inspector.sqlite3"}
        manage = [sys.executable, str(ROOT / "manage.py")]
        subprocess.run([*manage, "migrate", "--verbosity", "0"], env=environment, check=True)
        subprocess.run([*manage, "demo", "--fresh", "--folder", f"{folder}/demo"], env=environment, check=True, stdout=subprocess.DEVNULL)
        server = subprocess.Popen([*manage, "serve", "--port", "0", "--json"], env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout
            served = json.loads(server.stdout.readline())
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
                draw(browser.new_page(device_scale_factor=1, color_scheme="light"), served["url"], served["token"], folder)
                browser.close()
        finally:
            server.terminate()
            server.wait(timeout=10)
    sys.stdout.write(f"Drew {len(list(OUT.glob('*.png')))} pictures into {OUT.relative_to(ROOT)}/.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
