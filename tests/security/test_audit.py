"""The audit of dependencies says no when it should."""

import importlib.util
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def audit():
    """The script that CI runs."""
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
    told = list(audit.problems())
    assert "numpy is needed and not in requirements.lock" in told
    assert any(line.startswith("httpx ") and "0.0.1 is locked" in line for line in told)
    assert "rich is shipped under 'GPL-3.0'" in told
