"""What a test of a whole command may see of this machine: nothing of its user's own."""

import os

import pytest
import structlog

from orphangc.collect.observe import observation as observe
from support import speed

_FOREIGN = ("AWS_", "FSSPEC_", "ORPHANGC_", "XDG_")
_COLOURS = ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS", "CLICOLOR_FORCE")


@pytest.fixture(autouse=True)
def own_surroundings(monkeypatch, tmp_path_factory, quick_sessions):  # noqa: ARG001
    """Give each test its own home, no credentials, no colours, and no waiting for caches or disks.

    No machine loses power while tests run: what is written need not reach a disk.
    """
    foreign = (name for name in os.environ if name.startswith(_FOREIGN) or name in _COLOURS)
    for name in [name for name in foreign if name != speed.ENVIRONMENT]:
        monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(observe, "_LATER", 0.0)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    yield
    structlog.reset_defaults()
