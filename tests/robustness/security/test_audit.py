"""The audit of dependencies says no when it should."""

import base64
import hashlib
import importlib.util
from importlib import metadata
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci

TOP = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def audit():
    spec = importlib.util.spec_from_file_location("audit", TOP / ".ci" / "audit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_dependency_is_pinned_and_may_be_shipped(audit) -> None:
    """Those of this environment, as they are installed."""
    assert list(audit.problems()) == []


@pytest.mark.parametrize("line", ["a>=1", "a", "git+https://host/a", "a==1\nA==2", "-e ."])
def test_a_line_that_pins_nothing_is_refused(audit, line: str) -> None:
    """Nor may a name be pinned twice."""
    with pytest.raises(SystemExit, match="pins nothing"):
        audit.locked(line.splitlines())


def test_a_dependency_that_is_not_locked_is_told(audit, monkeypatch, tmp_path) -> None:
    """And so is one of which another version is installed, or whose licence forbids shipping."""
    lock = (TOP / "requirements.lock").read_text()
    (tmp_path / "pyproject.toml").write_bytes((TOP / "pyproject.toml").read_bytes())
    damaged = [
        "httpx==0.0.1" if line.startswith("httpx==") else line
        for line in lock.splitlines()
        if not line.startswith("numpy==")
    ]
    (tmp_path / "requirements.lock").write_text("\n".join(damaged))
    monkeypatch.setattr(audit, "TOP", tmp_path)
    monkeypatch.setattr(audit, "licence_of", lambda _: "GPL-3.0")
    monkeypatch.setattr(audit, "altered", lambda _: ())
    told = list(audit.problems())
    assert "numpy is needed and not in requirements.lock" in told
    assert any(line.startswith("httpx ") and "0.0.1 is locked" in line for line in told)
    assert "rich is shipped under 'GPL-3.0'" in told


def test_a_pin_that_nothing_needs_is_told(audit, monkeypatch, tmp_path) -> None:
    """What is in the lock is fetched; so is what an extra that is asked for needs."""
    lock = (TOP / "requirements.lock").read_text()
    (tmp_path / "pyproject.toml").write_bytes((TOP / "pyproject.toml").read_bytes())
    (tmp_path / "requirements.lock").write_text(f"{lock}\nleft-over==1.0\n")
    monkeypatch.setattr(audit, "TOP", tmp_path)
    monkeypatch.setattr(audit, "altered", lambda _: ())
    unneeded = [line for line in audit.problems() if "nothing needs it" in line]
    assert unneeded == ["left-over is locked, and nothing needs it"]
    installed = {audit.normal(each.metadata["Name"]): each for each in metadata.distributions()}
    assert "grpcio" in audit.needed(installed, ["pyspark[connect]"])
    assert "grpcio" not in audit.needed(installed, ["pyspark"])


@pytest.mark.parametrize(
    ("licence", "may"),
    [
        ("MIT", True), ("MIT OR GPL-3.0-only", True), ("BSD-3-Clause AND MIT AND 0BSD", True),
        ("MIT AND GPL-3.0-only", False), ("LGPL-2.1", False), ("Proprietary, LIMITED", False),
        ("AGPL-3.0 OR SSPL-1.0", False), ("", False), ("MIT; Proprietary", False),
    ],
)  # fmt: skip
def test_a_licence_is_known_by_its_whole_name(audit, licence: str, *, may: bool) -> None:
    """LIMITED holds the letters of one that is known; a choice may be made, a sum may not."""
    assert audit.may_be_shipped(licence) is may


def a_distribution(folder: Path, **files: bytes) -> metadata.Distribution:
    """Return an installed distribution with these files, each recorded as it is."""
    (folder / "thing-1.dist-info").mkdir()
    record = []
    for name, data in files.items():
        (folder / name).write_bytes(data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}\n")
    (folder / "thing-1.dist-info" / "RECORD").write_text("".join(record))
    return metadata.PathDistribution(folder / "thing-1.dist-info")


def test_a_file_that_is_not_its_wheels_is_told(audit, tmp_path) -> None:
    """Altered, or gone; and a distribution that came from elsewhere than an index."""
    thing = a_distribution(tmp_path, one=b"1", two=b"2", three=b"3")
    assert list(audit.altered(thing)) == []
    (tmp_path / "one").write_bytes(b"another")
    (tmp_path / "two").unlink()
    told = list(audit.altered(thing))
    assert told == ["has another one than its wheel", "has another two than its wheel"]
    (tmp_path / "thing-1.dist-info" / "direct_url.json").write_text("{}")
    assert "is of no index" in list(audit.altered(thing))


def test_what_every_start_of_python_runs_is_of_a_distribution(audit, tmp_path, monkeypatch) -> None:
    """A line of a ``.pth`` file is a program; nobody sees it run."""
    thing = a_distribution(tmp_path, **{"known.pth": b"import one"})
    (tmp_path / "stray.pth").write_bytes(b"import two")
    (tmp_path / "sitecustomize.py").write_bytes(b"import three")
    monkeypatch.setattr(audit.sysconfig, "get_path", lambda _: str(tmp_path))
    told = list(audit.strays([thing]))
    assert told == ["sitecustomize.py is of no distribution", "stray.pth is of no distribution"]
