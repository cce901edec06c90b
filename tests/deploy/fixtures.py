"""The tools as pytest fixtures; without them their tests are skipped, with the reason.

``ORPHANGC_REQUIRE`` turns the skip into a failure: ``helm`` for what npm brings, ``prometheus``
for what Debian's packages bring.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from deploy import tools
from deploy.cache import ToolMissingError
from support.missing import give_up

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
"""The mixin, and what is rendered from it."""


def required(resource: str, fetch: Callable[[], Path]) -> Path:
    """Return what is fetched; skip, or fail if ORPHANGC_REQUIRE names it, where it cannot be."""
    try:
        return fetch()
    except ToolMissingError as err:
        give_up(resource, err)


@pytest.fixture(scope="session")
def helm3() -> Path:
    return required("helm", lambda: tools.helm("3.17.3"))


@pytest.fixture(scope="session")
def helm4() -> Path:
    return required("helm", lambda: tools.helm("4.1.4"))


@pytest.fixture(scope="session", params=["3.17.3", "4.1.4"], ids=["helm3", "helm4"])
def helm(request: pytest.FixtureRequest) -> Path:
    return required("helm", lambda: tools.helm(request.param))


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """The folder with the npm packages (schemas of the Prometheus operator, readme-generator)."""
    return required("helm", tools.node_modules)


def _debian(name: str) -> Callable[[], Path]:
    return lambda: required("prometheus", lambda: tools.debian_tool(name))


promtool = pytest.fixture(_debian("promtool"), scope="session", name="promtool")
prometheus = pytest.fixture(_debian("prometheus"), scope="session", name="prometheus")
amtool = pytest.fixture(_debian("amtool"), scope="session", name="amtool")
alertmanager = pytest.fixture(
    _debian("prometheus-alertmanager"), scope="session", name="alertmanager"
)
pushgateway = pytest.fixture(_debian("prometheus-pushgateway"), scope="session", name="pushgateway")
jsonnet = pytest.fixture(_debian("jsonnet"), scope="session", name="jsonnet")
jsonnetfmt = pytest.fixture(_debian("jsonnetfmt"), scope="session", name="jsonnetfmt")
