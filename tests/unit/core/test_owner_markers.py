"""Two JobManagers that lived at once, told from one that followed another, by store times alone."""

import pytest

from orphangc.core.exporter.exporter_answer import has_followed, living_rival
from support.builders import T0, ago

OWN = {"a.began": ago("50m"), "a.alive": ago("1m")}


@pytest.mark.parametrize(
    ("others", "rival"),
    [
        ({}, None),
        ({"b.began": ago("3d"), "b.alive": ago("51m")}, None),
        ({"b.began": ago("3d"), "b.alive": ago("50m")}, None),
        ({"b.began": ago("3d"), "b.alive": ago("49m")}, "b"),
        ({"b.began": ago("20m"), "b.alive": ago("1m")}, "b"),
        ({"b.began": ago("20m")}, "b"),
        ({"b.began": ago("60m"), "b.alive": ago("60m")}, None),
        ({"b.alive": None}, "b"),
        ({"c.alive": ago("2m"), "b.alive": ago("2m")}, "b"),
        ({"README": ago("1m"), "b.other": ago("1m"), ".b.alive": ago("1m")}, None),
    ],
)
def test_a_successor_begins_when_the_other_has_written_its_last_marker(others, rival) -> None:
    """R15: a JobManager that was alive after another had begun lived beside it."""
    assert living_rival({**OWN, **others}, "a", now=T0) == rival


def test_one_that_is_dead_for_an_hour_is_nobody() -> None:
    """A misconfiguration that was mended lifts itself."""
    markers = {"a.began": ago("3d"), "a.alive": ago("1m"), "b.began": ago("2d")}
    assert living_rival({**markers, "b.alive": ago("60m")}, "a", now=T0) == "b"
    assert living_rival({**markers, "b.alive": ago("61m")}, "a", now=T0) is None


def test_without_markers_of_its_own_nobody_else_may_live() -> None:
    """An older exporter writes none; then which came first is unknown."""
    assert living_rival({"b.alive": ago("10m")}, "a", now=T0) == "b"
    assert living_rival({"b.alive": ago("2h")}, "a", now=T0) is None
    assert living_rival({}, "a", now=T0) is None


def test_one_that_began_after_the_last_sign_of_another_may_be_its_successor() -> None:
    """Right after a JobManager was killed; a rival that lived beside it is named before that."""
    killed = {"a.began": ago("50m"), "a.alive": ago("3m")}
    after = {"b.began": ago("2m"), "b.alive": ago("1m")}
    assert living_rival(killed | after, "a", now=T0) == "b"
    assert has_followed(killed | after, "a", "b")
    assert not has_followed(killed | {"b.began": ago("3m")}, "a", "b")
    assert not has_followed(killed | {"b.alive": ago("1m")}, "a", "b")
    assert not has_followed(after, "a", "b"), "without a marker of its own nothing is known"
    beside = {"c.began": ago("9m"), "c.alive": ago("1m")}
    assert living_rival(killed | after | beside, "a", now=T0) == "c"
