"""Each tool can be had, starts, and is what it is called."""

import subprocess
from pathlib import Path

import pytest

from deploy import cache, tools
from support import speed

pytestmark = pytest.mark.ci


def first_line(*command: str) -> str:
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=speed.command()
    )
    return (done.stdout or done.stderr).splitlines()[0]


def test_both_lines_of_helm_start(helm3, helm4):
    """Each binary reports the version that its digest was pinned for."""
    assert "v3.17.3" in first_line(str(helm3), "version", "--short")
    assert "v4.1.4" in first_line(str(helm4), "version", "--short")


@pytest.mark.parametrize(
    "name", ["promtool", "prometheus", "amtool", "alertmanager", "pushgateway"]
)
def test_the_tools_of_prometheus_start(request, name):
    """Unpacked beside the system, they run without being installed."""
    assert name in first_line(str(request.getfixturevalue(name)), "--version")


@pytest.mark.parametrize("name", ["jsonnet", "jsonnetfmt"])
def test_jsonnet_starts(request, name):
    """Both programs stand alone: no library of the package is needed."""
    path = request.getfixturevalue(name)
    assert first_line(str(path), "--version").startswith("Jsonnet")


def test_the_npm_packages_are_there(node_modules):
    """The schemas and the generator lie where the chart's tests look for them."""
    assert (node_modules / "@kubernetes-models/prometheus-operator").is_dir()
    assert (node_modules / ".bin/readme-generator").exists()


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
