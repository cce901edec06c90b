"""A tool is what it is called."""

import pytest

from deploy import cache, tools

pytestmark = pytest.mark.ci


@pytest.mark.usefixtures("helm3")
def test_another_binary_than_the_pinned_one_is_refused(monkeypatch, tmp_path):
    """The digest is that of the binary, so that a repacked one is refused too."""
    monkeypatch.setenv("ORPHANGC_TOOLS_CACHE", str(tmp_path))
    layer, version, _ = tools.HELM_LAYERS["3.17.3"]
    monkeypatch.setitem(tools.HELM_LAYERS, "3.17.3", (layer, version, "0" * 64))
    with pytest.raises(cache.ToolMissingError, match="another helm"):
        tools.helm("3.17.3")
