"""A tool is had whole, and is what it is called."""

from pathlib import Path

import pytest

from deploy import cache, tools

pytestmark = pytest.mark.ci


def test_a_folder_appears_only_when_it_is_whole(monkeypatch, tmp_path):
    """A fetch that fails leaves nothing that a later run would take for the tool."""
    monkeypatch.setenv("ORPHANGC_TOOLS_CACHE", str(tmp_path))

    def half(folder: Path) -> None:
        (folder / "half").touch()
        raise cache.ToolMissingError("the network is gone")

    with pytest.raises(cache.ToolMissingError):
        cache.cached("thing", half)
    assert [path.name for path in tmp_path.iterdir()] == [".thing.lock"]

    assert (cache.cached("thing", lambda folder: (folder / "whole").touch()) / "whole").exists()
    assert (cache.cached("thing", half) / "whole").exists(), "a filled folder is not filled again"


@pytest.mark.usefixtures("helm3")
def test_another_binary_than_the_pinned_one_is_refused(monkeypatch, tmp_path):
    """The digest is that of the binary, so that a repacked one is refused too."""
    monkeypatch.setenv("ORPHANGC_TOOLS_CACHE", str(tmp_path))
    layer, version, _ = tools.HELM_LAYERS["3.17.3"]
    monkeypatch.setitem(tools.HELM_LAYERS, "3.17.3", (layer, version, "0" * 64))
    with pytest.raises(cache.ToolMissingError, match="another helm"):
        tools.helm("3.17.3")


def test_a_tool_that_is_not_there_is_named(monkeypatch, tmp_path):
    """The reason of a skip says what to install."""
    monkeypatch.setenv("ORPHANGC_TOOLS_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(cache.ToolMissingError, match="no npm on the path"):
        tools.node_modules()
