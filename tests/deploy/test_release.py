"""A release: one version everywhere, all parts and no other, sums that hold."""

import hashlib
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci

TOP = Path(__file__).parents[2]
SCRIPT = TOP / ".ci" / "release.py"
SPEC = importlib.util.spec_from_file_location("release_of_parts", SCRIPT)
assert SPEC is not None
assert SPEC.loader is not None
release = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(release)

NAMED = ("gc/orphangc/__init__.py", "helm/orphangc/Chart.yaml", "gc/CHANGELOG.md")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of all that names a version, ready to be released."""
    for name in NAMED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, tmp_path / name)
    changes = tmp_path / "gc" / "CHANGELOG.md"
    heading = f"## {release.version()} (2026-11-24)"
    changes.write_text(changes.read_text().replace("## Unreleased", heading, 1))
    return tmp_path


def test_a_tree_of_one_version_may_be_released(tree: Path) -> None:
    """This repository's own, once its changelog says so."""
    assert list(release.differences(f"v{release.version()}", tree)) == []


@pytest.mark.parametrize("name", NAMED)
def test_each_place_with_another_version_is_named(tree: Path, name: str) -> None:
    """So is a tag that nothing agrees with."""
    tag = f"v{release.version()}"
    file = tree / name
    file.write_text(file.read_text().replace(release.version(), "9.9.9"))
    assert list(release.differences(tag, tree))
    assert len(list(release.differences("v8.8.8", tree))) == 4


def test_sums_are_of_all_parts_and_of_no_other(tmp_path: Path) -> None:
    """``sha256sum --check`` takes them; a missing or a strange part ends the release."""
    for name in release.parts(release.version()):
        (tmp_path / name).write_text(name)
    subprocess.run([sys.executable, SCRIPT, "sums", tmp_path], check=True)
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path, check=True)
    digest, name = (tmp_path / "SHA256SUMS").read_text().splitlines()[0].split()
    assert digest == hashlib.sha256(name.encode()).hexdigest()
    (tmp_path / "strange.whl").touch()
    assert subprocess.run([sys.executable, SCRIPT, "sums", tmp_path], check=False).returncode == 1
    (tmp_path / "strange.whl").unlink()
    (tmp_path / name).unlink()
    assert subprocess.run([sys.executable, SCRIPT, "sums", tmp_path], check=False).returncode == 1
