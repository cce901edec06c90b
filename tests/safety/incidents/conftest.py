"""Every test here runs whole commands, in surroundings of its own; and again without its answer.

What runs without its answer shows that the test can fail: that is of the class ``ci``.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from cli.own_environment import own_surroundings
from cli.stories import bed, story, undeclared
from cli.stories_on_s3 import on_s3, s3_server
from safety.incidents.essential import why_no_loss
from safety.incidents.removals import remove

__all__ = ["bed", "on_s3", "own_surroundings", "s3_server", "story", "undeclared"]

_HERE = "tests/safety/incidents/"


@pytest.fixture(autouse=True)
def removed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What is taken away: ``None`` when a test runs as it is."""
    if not getattr(request.module, "SEARCHES_STORAGES", False):
        remove("whole_storages", monkeypatch)  # it would answer what another answer is shown by
    name: str | None = getattr(request, "param", None)
    if name is not None:
        remove(name, monkeypatch)
    return name


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that is ``answered_by`` something once more without each of its answers."""
    names = [name for mark in metafunc.definition.iter_markers("answered_by") for name in mark.args]
    if names:
        controls = [pytest.param(e, id=f"without {e}", marks=pytest.mark.ci) for e in names]
        as_it_is = pytest.param(None, id="guarded")
        metafunc.parametrize("removed", [as_it_is, *controls], indirect=True)


def _removed_of(item: pytest.Item) -> str | None:
    spec = getattr(item, "callspec", None)
    return None if spec is None else spec.params.get("removed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the cases of a test as they are that do not rest on the answer: ``not_for`` their ids.

    They are its controls: cases in which nothing is at stake.
    """
    for item in [each for each in items if each.nodeid.startswith(_HERE)]:
        name = _removed_of(item)
        marks = (mark for mark in item.iter_markers("answered_by") if name in mark.args)
        controls = {case for mark in marks for case in mark.kwargs.get("not_for", ())}
        if name is not None and _case_of(item, name) in controls:
            items.remove(item)


def _case_of(item: pytest.Item, removed: str) -> str:
    """Return the id of a test's own case, as it stands without what is taken away."""
    whole = item.name.partition("[")[2].removesuffix("]")
    own = f"without {removed}"
    return whole.removeprefix(f"{own}-") if whole.startswith(own) else whole.removesuffix(f"-{own}")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[Any]:
    """Let a test pass without its answer only if it fails, and by a loss."""
    name = _removed_of(pyfuncitem)
    if name is None:
        return (yield)
    try:
        yield
    except AssertionError as err:
        why = why_no_loss(err, pyfuncitem.path)
        if why is None:
            return True
        pytest.fail(f"without {name} it fails, and not by a loss: {why}")
    pytest.fail(f"nothing is lost without {name}: it is no answer, or the test shows nothing")
