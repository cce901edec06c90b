"""Asking every base, of which some may be out of reach."""

from dataclasses import dataclass

import pytest

from flinkstate.places.locations import Location, canonical
from orphangc.app.wiring.searched_places import UnopenedStorage
from orphangc.collect.observe.checkpoints import CheckpointReader, scan_checkpoints
from orphangc.collect.observe.searching import NO_SCAN, NOTHING_READ, BaseSearch
from orphangc.errors import StorageUnreachableError


@dataclass(frozen=True)
class Base:
    location: Location


OWN, ONE, TWO = (Base(canonical(f"/{name}")) for name in ("own", "one", "two"))


def test_a_sibling_that_failed_once_is_asked_no_more() -> None:
    """It blocks all the same, and each question may take long."""
    asked = []

    def question(base: Base) -> str:
        asked.append(base)
        if base is TWO:
            raise StorageUnreachableError("no credentials")
        return str(base.location)

    search = BaseSearch([OWN], [ONE, TWO])
    for _ in range(2):
        assert search.ask(question, "nothing") == ("/own", "/one", "nothing")
    assert search.unreached == {TWO.location: "no credentials"}
    assert (asked.count(ONE), asked.count(TWO)) == (2, 1)


@pytest.mark.parametrize("siblings", [[], [ONE], [ONE, TWO]])
def test_the_answers_stand_in_the_order_of_the_bases(siblings) -> None:
    """However many are asked at the same time."""
    search = BaseSearch([OWN], siblings)
    bases = [OWN, *siblings]
    assert search.ask(lambda base: base, None) == tuple(bases)


def test_the_storage_root_itself_must_answer() -> None:
    """A run without it ends."""

    def question(_: Base) -> None:
        raise StorageUnreachableError("gone")

    with pytest.raises(StorageUnreachableError):
        BaseSearch([OWN], [ONE]).ask(question, None)


def test_a_storage_that_could_not_be_opened_is_out_of_reach() -> None:
    """Whatever it is asked, and nothing was read in it."""
    storage = UnopenedStorage(canonical("gopher://x/y"), "no such scheme")
    search = BaseSearch([], [storage])
    assert search.ask(scan_checkpoints, NO_SCAN) == (NO_SCAN,)
    assert search.ask(CheckpointReader().collect, NOTHING_READ) == (NOTHING_READ,)
    assert search.unreached == {storage.location: "no such scheme"}
    questions = [
        storage.objects,
        storage.pages,
        lambda: storage.read("x", max_bytes=1),
        lambda: storage.part("x", start=0, size=1),
        lambda: storage.stat(["x"]),
        lambda: storage.delete([]),
        storage.now,
    ]
    for question in questions:
        with pytest.raises(StorageUnreachableError, match="no such scheme"):
            question()
