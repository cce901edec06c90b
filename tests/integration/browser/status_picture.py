"""The README's picture of the status page: a daemon's real page in a headless Chromium.

PYTHONPATH=tests python -m integration.browser.status_picture   # takes gc/pictures/status.png anew
"""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path

from integration.browser.test_page import served
from integration.harness.chromium import Browser
from unit.app.web.statuses import Source, well

PICTURE = Path(__file__).parents[3] / "gc" / "pictures" / "status.png"
WIDTH, HEIGHT = 1000, 1110
"""Pixels: what is stored, and how it has grown; the lists below are left out."""


def taken(browser: Browser) -> bytes:
    """Return the top of the page of a daemon that has deleted for ten days, as PNG."""
    with served(Source(well())) as url:
        browser.open(url, width=WIDTH)
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 1}
        shot = browser.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
    return base64.b64decode(shot["data"])


def main() -> None:
    """Take the picture, and keep it."""
    with tempfile.TemporaryDirectory(prefix="orphangc-chromium-") as folder:
        browser = Browser(Path(folder))
        try:
            PICTURE.write_bytes(taken(browser))
        finally:
            browser.close()


if __name__ == "__main__":
    main()
