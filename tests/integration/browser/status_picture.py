"""Pictures of a daemon's real pages in a headless Chromium.

PYTHONPATH=tests python -m integration.browser.status_picture          # gc/pictures/status.png
PYTHONPATH=tests python -m integration.browser.status_picture FOLDER   # every page, for a reviewer
"""

import base64
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from integration.browser.test_page import LOOKS, paths_of, served
from integration.harness.chromium import Browser
from unit.app.web.statuses import ORDERS, STORIES, Source, a_root, a_status, well
from unit.app.web.test_checkpoint_pages import GOLDEN, a_run

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


def every_page(browser: Browser, folder: Path) -> Iterator[Path]:
    """Take every page of every story at a desk, on a phone and in the dark; yield the files."""
    source = Source(well())
    record = a_run(folder, GOLDEN)
    kept = a_status(a_root(record, settings={"root": record.root}))
    run = f"/ui/runs/{record.run_id}"
    more = (f"checkpoints?job={ORDERS}", f"checkpoints?uri={GOLDEN}", "lineages", "objects?key=x")
    pages = {name: [*enumerate(paths_of(make()))] for name, make in STORIES.items()}
    pages["checkpoints"] = [*enumerate(f"{run}/{each}" for each in more)]
    with served(source) as url:
        for name, paths in pages.items():
            source.now = kept if name == "checkpoints" else STORIES[name]()
            for (number, path), (width, scheme) in product(paths, LOOKS[:3]):
                browser.open(url + path, width=width, scheme=scheme)
                file = folder / f"{name}-{number}-{width}-{scheme}.png"
                file.write_bytes(browser.screenshot())
                yield file


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="orphangc-chromium-") as folder:
        browser = Browser(Path(folder))
        try:
            if sys.argv[1:]:
                print(*every_page(browser, Path(sys.argv[1])), sep="\n")
            else:
                PICTURE.write_bytes(taken(browser))
        finally:
            browser.close()


if __name__ == "__main__":
    main()
