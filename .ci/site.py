"""Build a site from the pages that stand beside the code: ``python .ci/site.py FOLDER``.

Every tracked page and picture is copied as it lies, so that each relative link leads where it leads
in the repository; README becomes the first page. A link to what is no page (a module, a test) keeps
its words and loses its target: the site shows no code. MkDocs builds it strictly: a link or a
heading that is not there fails the build.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath

TOP = Path(__file__).parents[1]
SHOWN = ("README.md", "gc/", "deploy/", "helm/")
"""What the site shows; pages about tests and for those who develop stay in the repository."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)

CONFIGURATION = """\
site_name: orphangc
docs_dir: {docs}
site_dir: {site}
theme: {{name: readthedocs, highlightjs: false}}
strict: true
use_directory_urls: false
validation: {{links: {{not_found: warn, anchors: warn, absolute_links: warn}}}}
plugins: []
nav:
  - orphangc: index.md
  - Guide:
{guide}
  - Reference:
{reference}
  - Safety: gc/SAFETY.md
  - For those who deploy jobs: gc/DEPLOYING.md
  - Image: deploy/README.md
  - Chart: helm/orphangc/README.md
  - Alerts: deploy/monitoring/README.md
  - Runbook: deploy/monitoring/runbook.md
  - Exporter: deploy/flink-plugin/README.md
  - Spark: deploy/spark/README.md
  - Decisions:
{decisions}
  - The house: gc/README.md
  - Changes: gc/CHANGELOG.md
"""


def tracked() -> list[PurePosixPath]:
    """Return the pages and pictures that the site shows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.md", "*.svg", "*.png"],  # noqa: S607
        cwd=TOP,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return [PurePosixPath(each) for each in listed.split("\0") if each.startswith(SHOWN)]


def place_of(page: PurePosixPath) -> PurePosixPath:
    """Return where a file of the repository lies in the site."""
    return PurePosixPath("index.md") if str(page) == "README.md" else page


def rendered(text: str, page: PurePosixPath, known: set[PurePosixPath]) -> str:
    """Return a page with the links that lead to other pages; other relative ones lose theirs."""
    kept: list[str] = []

    def hold(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\0{len(kept) - 1}\0"

    def linked(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        path, hash_, anchor = target.partition("#")
        if not path or "://" in path:
            return match[0]
        words = _LINK.sub(linked, words)
        found = _resolved(page.parent, path)
        if found not in known:
            return words
        up = "../" * (len(place_of(page).parts) - 1)
        return f"{mark}[{words}]({up}{place_of(found)}{hash_}{anchor})"

    text = _LINK.sub(linked, _FENCE.sub(hold, text))
    return re.sub("\0(\\d+)\0", lambda match: kept[int(match[1])], text)


def _resolved(folder: PurePosixPath, path: str) -> PurePosixPath:
    parts: list[str] = []
    for part in (folder / path).parts:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return PurePosixPath(*parts)


def build(site: Path) -> None:
    """Build the site into a folder.

    Raises:
        SystemExit: A link of a page leads nowhere.

    """
    known = tracked()
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        for each in known:
            place = docs / place_of(each)
            place.parent.mkdir(parents=True, exist_ok=True)
            if each.suffix == ".md":
                place.write_text(rendered((TOP / each).read_text(), each, set(known)))
            else:
                place.write_bytes((TOP / each).read_bytes())
        file = Path(folder) / "mkdocs.yml"
        parts = {name: _part(known, f"gc/{name}/") for name in ("guide", "reference", "decisions")}
        file.write_text(CONFIGURATION.format(docs=docs, site=site.absolute(), **parts))
        built = subprocess.run(  # noqa: S603 - our own arguments
            [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(file)],
            check=False,  # with --quiet it counts no warning, and fails for none
            capture_output=True,
            text=True,
        )
    if built.returncode:
        sys.stderr.write(built.stderr)
        sys.exit(built.returncode)


def _part(known: list[PurePosixPath], folder: str) -> str:
    pages = [each for each in known if str(each).startswith(folder) and each.suffix == ".md"]
    return "\n".join(f"    - {each}" for each in pages)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
