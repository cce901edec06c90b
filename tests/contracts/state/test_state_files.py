"""The StateFiles port: whole files, and a creation that exactly one wins."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

from orphangc.adapters.files.translate import host_now


def test_a_location_that_does_not_exist_yet_is_empty(place):
    """The first run finds no state, which is no error."""
    state = place.open_state()
    assert state.names("") == []
    assert state.names("tombstones") == []
    assert state.read("tombstones/a") is None
    assert state.modified_at("tombstones/a") is None
    state.remove("tombstones/a")


def test_what_is_written_is_read(place):
    """A second write replaces the first; another opening sees it."""
    state = place.open_state()
    state.write("runs/1/journal", b"one")
    state.write("runs/1/journal", b"two, longer")
    assert place.open_state().read("runs/1/journal") == b"two, longer"
    assert state.names("runs/1") == ["journal"]
    assert state.names("runs") == ["1"]


def test_names_are_sorted_and_whole(place):
    """However they were written, and without helpers' files."""
    state = place.open_state()
    names = [f"{number:04}" for number in range(30)]
    for name in reversed(names):
        state.write(f"t/{name}", b"x")
    assert state.names("t") == names


def test_a_file_is_removed_alone(place):
    """Its siblings stay, and so does what its name is the start of."""
    state = place.open_state()
    for name in ("t/a", "t/ab", "t/a[1]", "t/a*"):
        state.write(name, b"x")
    state.remove("t/a*")
    state.remove("t/a")
    assert state.names("t") == ["a[1]", "ab"]
    for name in ("t/ab", "t/a[1]", "t"):
        state.remove(name)
    assert state.names("") == [], "a folder that holds nothing goes by its own name"


def test_only_the_first_creation_wins(place):
    """And its bytes stay."""
    state = place.open_state()
    assert state.create("locks/root", b"first") is True
    assert state.create("locks/root", b"second") is False
    assert state.read("locks/root") == b"first"
    state.remove("locks/root")
    assert state.create("locks/root", b"third") is True
    assert state.names("locks") == ["root"]
    assert state.names("") == ["locks"]


def test_exactly_one_of_eight_creators_wins(place):
    """Two runs that both hold the lock could sweep against each other's plans."""
    states = [place.open_state() for _ in range(8)]
    for turn in range(5):
        start = Barrier(8)

        def create(number: int, turn=turn, start=start) -> bool:
            start.wait()
            return states[number].create(f"locks/{turn}", b"%d" % number)

        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(create, range(8)))
        assert won.count(True) == 1
        assert states[0].read(f"locks/{turn}") == b"%d" % won.index(True)


def test_the_time_of_a_file_is_the_stores(place):
    """It is how a run knows how old a lock is."""
    state = place.open_state()
    before = host_now()
    state.write("x", b"x")
    assert before - timedelta(seconds=1) <= state.modified_at("x") <= host_now()
