"""The check of a built wheel says no when it should."""

import importlib.util
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci

TOP = Path(__file__).parents[2]
MODULES = {
    "orphangc/__init__.py": "",
    "orphangc/core/rule.py": "",
    "flinkstate/x.py": "",
    "orphangc/schema.json": "{}",
}
COMMANDS = """\
[console_scripts]
flinkstate = flinkstate.__main__:main
orphangc = orphangc.__main__:main
"""
METADATA = """\
Metadata-Version: 2.4
Name: orphangc
Version: 1.2.3
Description-Content-Type: text/markdown

# A page
"""


@pytest.fixture(scope="module")
def checks():
    """The script that the workflow runs."""
    spec = importlib.util.spec_from_file_location("check_wheel", TOP / ".ci" / "check_wheel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def built(tmp_path):
    """Sources, and what a correct build makes of them: files of the wheel, of the archive."""
    for name, text in MODULES.items():
        file = tmp_path / "gc" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "gc" / "orphangc" / "__pycache__").mkdir()
    (tmp_path / "gc" / "orphangc" / "__pycache__" / "rule.pyc").write_text("")
    about = "orphangc-1.2.3.dist-info"
    wheel = {
        **MODULES,
        f"{about}/METADATA": METADATA,
        f"{about}/entry_points.txt": COMMANDS,
        f"{about}/licenses/LICENSE": "Apache",
        "orphangc-1.2.3.data/data/share/bash-completion/completions/orphangc": "",
    }
    archive = {f"orphangc-1.2.3/gc/{name}": text for name, text in MODULES.items()}
    return tmp_path, wheel, {**archive, "orphangc-1.2.3/tests/test_rule.py": ""}


def problems(checks, top: Path, wheel: dict[str, str], archive: dict[str, str]) -> list[str]:
    dist = top / "dist"
    dist.mkdir()
    with zipfile.ZipFile(dist / "orphangc-1.2.3-py3-none-any.whl", "w") as packed:
        for name, text in wheel.items():
            packed.writestr(name, text)
    with tarfile.open(dist / "orphangc-1.2.3.tar.gz", "w:gz") as packed:
        for name, text in archive.items():
            about = tarfile.TarInfo(name)
            about.size = len(text)
            packed.addfile(about, io.BytesIO(text.encode()))
    return list(checks.problems(dist, top))


def test_a_whole_build_is_accepted(checks, built) -> None:
    """Compiled files of the source folder are not missed."""
    assert problems(checks, *built) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("orphangc/core/rule.py", "lacks orphangc/core/rule.py"),
        ("orphangc/schema.json", "lacks orphangc/schema.json"),
        ("orphangc-1.2.3.dist-info/licenses/LICENSE", "lacks licenses/LICENSE"),
        ("orphangc-1.2.3.dist-info/METADATA", "lacks METADATA"),
    ],
)
def test_what_a_wheel_lacks_is_found(checks, built, name: str, said: str) -> None:
    """Data files beside modules, and what the index wants."""
    top, wheel, archive = built
    del wheel[name]
    (found,) = problems(checks, top, wheel, archive)
    assert said in found


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"tests/test_rule.py": ""}, "has tests/test_rule.py too"),
        ({"orphangc/core/old.py": ""}, "has orphangc/core/old.py too"),
        (
            {"orphangc-1.2.3.dist-info/METADATA": METADATA.replace("1.2.3", "1.2.4")},
            "version 1.2.4",
        ),
        ({"orphangc-1.2.3.dist-info/METADATA": METADATA.replace("# A page", "")}, "no README"),
        ({"orphangc-1.2.3.dist-info/METADATA": METADATA.replace("1.2.3", "one")}, "version"),
        ({"orphangc-1.2.3.dist-info/entry_points.txt": ""}, "does not install the command"),
    ],
)
def test_what_is_wrong_in_a_wheel_is_found(
    checks, built, changed: dict[str, str], said: str
) -> None:
    """Files of the tests, files that were left from an older build, metadata."""
    top, wheel, archive = built
    (found,) = problems(checks, top, {**wheel, **changed}, archive)
    assert said in found


def test_an_archive_without_a_module_is_found(checks, built) -> None:
    """Distributions build from it."""
    top, wheel, archive = built
    del archive["orphangc-1.2.3/gc/orphangc/core/rule.py"]
    assert problems(checks, top, wheel, archive) == [
        "orphangc-1.2.3.tar.gz lacks orphangc/core/rule.py"
    ]


def test_an_empty_folder_is_found(checks, tmp_path) -> None:
    """A build that made nothing is none."""
    (found,) = checks.problems(tmp_path, tmp_path)
    assert "0 wheels" in found
