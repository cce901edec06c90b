"""How long Hypothesis searches, and who runs when.

``HYPOTHESIS_PROFILE``: dev and ci check, with the same examples each time; nightly searches.
"""

import gc
import math
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext

import hypothesis.core
import pytest
import structlog
from hypothesis import HealthCheck, settings
from hypothesis.vendor.pretty import RepresentationPrinter
from schemathesis.generation.hypothesis import setup as patch_hypothesis
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from contracts.servers.moto import moto_server
from support import failures_last, night, speed
from support.budget import Budgets
from support.ending import ending
from support.filing import Filing
from support.kubernetes_server import KubernetesServer
from support.leaks import Leaks
from support.leftovers import Leftovers
from support.memory_folder import MemoryFolder
from support.processes import no_thread_left

_SLOW = [HealthCheck.too_slow]  # two shared cores say nothing of the code

settings.register_profile(  # the same examples each time, none from a database of earlier runs
    "dev", max_examples=40, deadline=None, suppress_health_check=_SLOW, derandomize=True
)
settings.register_profile("ci", settings.get_profile("dev"), max_examples=120)
settings.register_profile(  # fresh ones: what they find is filed (tests/robustness/found)
    "nightly",
    max_examples=night.share(3_000, least=120),
    deadline=None,
    suppress_health_check=_SLOW,
    print_blob=True,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

patch_hypothesis()  # Schemathesis' own, done once: it leaves every failing example blank
hypothesis.core.RepresentationPrinter = RepresentationPrinter

# Containers often forbid to keep bytecode. Then each of our hundreds of processes would compile the
# whole package again, and each worker rewrite every test.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Every server of the tests is on this machine, where a user's proxy does not lead.
_direct = [os.environ.get("no_proxy") or os.environ.get("NO_PROXY", ""), "127.0.0.1", "localhost"]
os.environ["NO_PROXY"] = os.environ["no_proxy"] = ",".join(filter(None, _direct))

_LONG = ("flink", "image", "spark", "prometheus", "chromium")
"""Markers of tests that wait for others most of the time, the longest first."""

_SERVERS = ("tests/integration/spark/", "tests/integration/browser/test_page.py")
_FLINK_ON_S3 = ("tests/integration/flink/test_collect_layouts.py",)
_FLINK = ("tests/integration/", "tests/contracts/cluster/test_flink_rest.py")
_STORES = (
    *(f"tests/contracts/storage/test_{each}.py" for each in ("deleter", "extras", "lister")),
    "tests/contracts/policy/",
)
_GROUPS = {_SERVERS: "servers", _FLINK_ON_S3: "flink on s3", _FLINK: "flink", _STORES: "stores"}
"""Each group is one process's, which starts its servers once; any other file is a group too.

What the longest group takes, all tests take.
"""


class _Groups(LoadScopeScheduling):
    """Keeps together what shares a server, or should not disturb another one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((name for files, name in _GROUPS.items() if file.startswith(files)), file)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose where files go, let no test leave a secret there, measure the idle machine."""
    if config.option.timeout is None:  # pytest-timeout reads it afterwards
        config.option.timeout = speed.scaled(float(config.getini("timeout")))
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        memory = MemoryFolder()
        chosen = memory.chosen()
        config.option.basetemp = None if chosen is None else str(chosen)
        config.pluginmanager.register(memory, "memory-folder")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Leftovers(), "leftovers")
        config.pluginmanager.register(failures_last, "failures-last")
    config.pluginmanager.register(Leaks(config), "leaks")
    if settings.default.derandomize:
        config.pluginmanager.register(Budgets(), "budgets")
    else:  # a search takes what it is given
        config.pluginmanager.register(Budgets(factor=lambda: math.inf), "budgets")
        config.pluginmanager.register(Filing(), "filing")
    if (chosen := ending()) is not None:
        config.pluginmanager.register(chosen, "ending")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for cycles among what tests make, not among the tests and modules themselves."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(100_000, 20, 20)
        gc.enable()


def pytest_report_header() -> str:
    """Say by how much leases, timeouts and patience are longer here than on an idle machine."""
    return f"limits of time: {speed.factor():.2f} times the reference machine's"


@pytest.fixture
def kubernetes(tmp_path, monkeypatch) -> Iterator[KubernetesServer]:
    """An API server that enforces the operator's schemas, reached by a kubeconfig."""
    with KubernetesServer() as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
        yield server


@pytest.fixture(autouse=True)
def own_log_configuration() -> Iterator[None]:
    """Leave no test a log that another one's captured stream ended up with."""
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def own_threads(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let no thread outlive its test: one that tries again would move another test's numbers.

    Programs of third parties, and what speaks to them, keep theirs for a whole session.
    """
    with nullcontext() if request.node.get_closest_marker("live") else no_thread_left():
        yield


@pytest.fixture
def kills(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the commands of a test that kills one a temporary folder of the test's own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("killed")))


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    """An S3 server for all tests of this process; each takes buckets of its own."""
    with moto_server() as url:
        yield url


@pytest.fixture(scope="session")
def quick_sessions() -> Iterator[None]:
    """Service models are read once: botocore would read them from disk for every opening."""
    from botocore import loaders, session  # noqa: PLC0415 - most processes need none of it

    models = loaders.create_loader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "create_loader", lambda *_: models)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Let our groups be those of xdist, whose own marks are lost with pytest 9."""
    return _Groups(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, whatever order the rest comes in."""
    items.sort(key=lambda item: min(map(_LONG.index, _live_marks(item)), default=len(_LONG)))


def _live_marks(item: pytest.Item) -> list[str]:
    return [mark.name for mark in item.iter_markers() if mark.name in _LONG]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have told with ``record_property("told", ...)``: figures, not verdicts."""
    reports = [each for some in terminalreporter.stats.values() for each in some]
    told = [
        text
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, text in report.user_properties
        if name == "told"
    ]
    if told:
        terminalreporter.section("told by tests")
        for text in sorted(told):
            terminalreporter.write_line(str(text))
