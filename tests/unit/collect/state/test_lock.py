"""One run at a time: the lock is never held twice, and never held for ever."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.collect.state.lock import TIME_TO_LIVE, Holder, Lock, Renewal, acquire
from orphangc.errors import ExitCode, LockHeldError, OrphanGcError, StorageUnreachableError
from support import speed
from unit.collect.state.places import PLACES, Place, SteppedFiles

FOLDER = "root/lock"
SECOND = timedelta(seconds=1)


@pytest.fixture(params=PLACES)
def place(request, tmp_path) -> Place:
    return PLACES[request.param](tmp_path / "state")


def a_holder(token: str = "run-1", **changes: object) -> Holder:
    return Holder(**{"token": token, "host": "here", "pid": 7, "started": "boot/1", **changes})


def take(files, token: str = "run-1", *, dead: tuple[str, ...] = ()) -> Lock:
    """Acquire the lock, while the runs in ``dead`` are processes of this machine that ended."""
    return acquire(files, FOLDER, a_holder(token), is_dead=lambda holder: holder.token in dead)


def is_held(files) -> bool:
    try:
        take(files, "probe").release()
    except LockHeldError:
        return True
    return False


def test_a_free_lock_is_acquired_and_released_and_acquired_again(place: Place) -> None:
    """Two GCs at once would spoil each other's quarantine."""
    for number in range(3):
        lock = take(place.files, f"run-{number}")
        lock.renew()
        assert is_held(place.files)
        lock.release()
        assert not is_held(place.files)


def test_a_living_run_keeps_its_lock(place: Place) -> None:
    """Exit code 11: another run holds the lock, and who it is."""
    take(place.files)
    with pytest.raises(LockHeldError, match="process 7 on here") as caught:
        take(place.files, "run-2")
    assert caught.value.exit_code is ExitCode.LOCK_HELD


@pytest.mark.parametrize("dead", [(), ("run-0",)])
def test_exactly_one_of_many_threads_acquires(place: Place, dead: tuple[str, ...]) -> None:
    """A free lock, or that of a dead run: one of those who want it gets it."""
    count = 8
    for _ in range(5):
        if dead:
            take(place.files, "run-0")
        barrier = threading.Barrier(count)
        locks: list[Lock] = []

        def want(number: int, barrier=barrier, locks=locks) -> None:
            barrier.wait(timeout=speed.patience())
            try:
                locks.append(take(place.files, f"run-{number + 1}", dead=dead))
            except LockHeldError:
                return

        with ThreadPoolExecutor(count) as pool:
            list(pool.map(want, range(count)))
        assert len(locks) == 1
        locks[0].renew()
        locks[0].release()


@pytest.mark.parametrize("step", ["names", "remove"])
def test_a_run_that_cannot_see_that_it_holds_the_lock_gives_it_back(step: str) -> None:
    """Its error ends it, and no run of another machine waits half an hour for it."""
    files, asked = SteppedFiles(), []

    def refuse(verb: str, _: str) -> None:
        asked.append(verb)
        if verb == step and "create" in asked:
            raise StorageUnreachableError("no answer")

    take(files).release()
    files.before = refuse
    with pytest.raises(StorageUnreachableError):
        take(files, "run-2")
    files.before = lambda _verb, _name: None
    assert not is_held(files)


def test_two_storage_roots_have_two_locks(place: Place) -> None:
    """One state location serves many roots."""
    take(place.files)
    other = acquire(place.files, "other/lock", a_holder("run-2"), is_dead=lambda _: False)
    other.renew()


def test_the_lock_of_a_dead_process_of_this_machine_is_taken_over_at_once(place: Place) -> None:
    """A crash must not stop collection for half an hour."""
    take(place.files, "run-1")
    lock = take(place.files, "run-2", dead=("run-1",))
    lock.renew()
    assert is_held(place.files)


def test_a_lock_that_was_not_renewed_for_long_is_taken_over(place: Place) -> None:
    """A run that died on another machine leaves no sign; the store's clock shows its age."""
    lock = take(place.files, "run-1")
    place.make_older(f"{FOLDER}/{lock.name}", TIME_TO_LIVE - 60 * SECOND)
    assert is_held(place.files)
    place.make_older(f"{FOLDER}/{lock.name}", 61 * SECOND)
    take(place.files, "run-2").renew()


def test_a_renewed_lock_is_young_again(place: Place) -> None:
    """Batches renew it every minute."""
    lock = take(place.files, "run-1")
    place.make_older(f"{FOLDER}/{lock.name}", 2 * TIME_TO_LIVE)
    lock.renew()
    assert is_held(place.files)


def test_a_lock_from_the_future_is_held(place: Place) -> None:
    """A clock that went back makes no run dead."""
    lock = take(place.files, "run-1")
    place.make_older(f"{FOLDER}/{lock.name}", -3 * TIME_TO_LIVE)
    assert is_held(place.files)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b'{"token": "x"}', b"\xff\xfe"])
def test_a_lock_that_cannot_be_read_is_held_until_it_is_stale(place: Place, data: bytes) -> None:
    """Somebody is writing it, or wrote it in another version."""
    lock = take(place.files, "run-1")
    place.damage(f"{FOLDER}/{lock.name}", data)
    with pytest.raises(LockHeldError, match="somebody"):
        take(place.files, "run-2", dead=("run-1",))
    place.make_older(f"{FOLDER}/{lock.name}", TIME_TO_LIVE)
    take(place.files, "run-2").renew()


def test_a_location_that_tells_no_time_keeps_every_lock_that_may_be_alive() -> None:
    """No age is no proof of death: every doubt keeps the lock."""
    files = SteppedFiles(tells_time=False)
    lock = take(files, "run-1")
    with pytest.raises(LockHeldError):
        take(files, "run-2")
    lock.renew()
    take(files, "run-3", dead=("run-1",)).release()
    take(files, "run-4").renew()


def test_a_run_that_slept_and_lost_the_lock_notices_when_it_renews(place: Place) -> None:
    """Before each batch: a run that was taken over touches nothing more (restic#2452)."""
    sleeper = take(place.files, "run-1")
    place.make_older(f"{FOLDER}/{sleeper.name}", TIME_TO_LIVE)
    successor = take(place.files, "run-2")
    with pytest.raises(LockHeldError, match="taken over"):
        sleeper.renew()
    successor.renew()
    successor.release()
    with pytest.raises(LockHeldError, match="taken over"):
        sleeper.renew()


def test_a_run_releases_only_its_own_lock(place: Place) -> None:
    """A run that lost the lock must not free its successor's."""
    sleeper = take(place.files, "run-1")
    successor = take(place.files, "run-2", dead=("run-1",))
    sleeper.release()
    assert is_held(place.files)
    successor.renew()


def test_a_released_lock_cannot_be_renewed(place: Place) -> None:
    """What was given back is not ours, taken or not."""
    lock = take(place.files, "run-1")
    lock.release()
    with pytest.raises(LockHeldError):
        lock.renew()
    lock.release()
    assert not is_held(place.files)


def test_the_folder_does_not_grow(place: Place) -> None:
    """A lock a night for years."""
    for number in range(10):
        take(place.files, f"run-{number}").release()
        take(place.files, f"dead-{number}")
        take(place.files, f"heir-{number}", dead=(f"dead-{number}",)).release()
    assert len(place.files.names(FOLDER)) <= 2


def at_first(verb: str, action: Callable[[], None]) -> Callable[[str, str], None]:
    """Return a callback that acts once, before the first step of that kind."""
    done: list[str] = []

    def before(seen: str, _: str) -> None:
        if seen == verb and not done:
            done.append(seen)
            action()

    return before


def test_a_run_held_up_before_its_creation_does_not_hold_beside_a_successor() -> None:
    """1. E sees no lock. 2. A acquires and dies. 3. B takes over. 4. E creates the first file."""
    files = SteppedFiles()
    others: list[Lock] = []

    def meanwhile() -> None:
        take(files, "A")
        others.append(take(files, "B", dead=("A",)))

    files.before = at_first("create", meanwhile)
    with pytest.raises(LockHeldError):
        take(files, "E")
    others[0].renew()


def test_a_run_held_up_after_judging_a_dead_holder_does_not_rob_a_living_one() -> None:
    """1. L finds A dead. 2. W takes over and releases. 3. X acquires. 4. L goes on."""
    files = SteppedFiles()
    take(files, "A")
    others: list[Lock] = []

    def meanwhile() -> None:
        take(files, "W", dead=("A",)).release()
        others.append(take(files, "X"))

    files.before = at_first("create", meanwhile)
    with pytest.raises(LockHeldError):
        take(files, "L", dead=("A",))
    others[0].renew()


def test_a_renewal_that_crosses_a_takeover_frees_nothing() -> None:
    """1. S renews, finds itself on top. 2. T takes over. 3. S writes its file again."""
    files = SteppedFiles()
    sleeper = take(files, "S")
    others: list[Lock] = []
    files.before = at_first("write", lambda: others.append(take(files, "T", dead=("S",))))
    sleeper.renew()
    with pytest.raises(LockHeldError):
        sleeper.renew()
    others[0].renew()
    others[0].release()
    with pytest.raises(LockHeldError):
        sleeper.renew()
    take(files, "U").renew()


@dataclass
class Schedule:
    """Lets one of several threads take one step at a time, in a given order."""

    choices: list[int]
    waiting: dict[int, threading.Event] = field(default_factory=dict)
    arrived: threading.Condition = field(default_factory=threading.Condition)
    running: set[int] = field(default_factory=set)

    def step(self) -> None:
        event = threading.Event()
        with self.arrived:
            self.waiting[threading.get_ident()] = event
            self.arrived.notify_all()
        assert event.wait(speed.patience())

    def drive(self, threads: list[threading.Thread]) -> None:
        """Give turns until all threads have ended; no other thread runs meanwhile."""
        for thread in threads:
            thread.start()
        while True:
            with self.arrived:
                is_quiet = self.arrived.wait_for(
                    lambda: len(self.waiting) == sum(t.is_alive() for t in threads), timeout=0.001
                )
                if not is_quiet:
                    continue
                alive = [t.ident for t in threads if t.is_alive()]
                if not alive:
                    return
                chosen = alive[(self.choices.pop() if self.choices else 0) % len(alive)]
                self.waiting.pop(chosen).set()


@dataclass
class Contest:
    """Several runs that want one lock; what the world knows of them."""

    files: SteppedFiles = field(default_factory=SteppedFiles)
    dead: set[str] = field(default_factory=set)
    holding: set[str] = field(default_factory=set)
    most: int = 0
    robbed: list[str] = field(default_factory=list)

    def run(self, token: str, end: str) -> None:
        """Want the lock, use it once, and die holding it or give it back."""
        try:
            lock = acquire(
                self.files, FOLDER, a_holder(token), is_dead=lambda each: each.token in self.dead
            )
        except LockHeldError:
            return
        self.holding.add(token)
        self.most = max(self.most, len(self.holding))
        try:
            lock.renew()
        except LockHeldError:
            self.robbed.append(token)
        self.holding.discard(token)
        if end == "die":
            self.dead.add(token)
        else:
            lock.release()


@given(
    choices=st.lists(st.integers(0, 3), max_size=60),
    ends=st.lists(st.sampled_from(["release", "die"]), min_size=3, max_size=3),
    starts_dead=st.booleans(),
)
def test_in_every_order_of_steps_at_most_one_living_run_holds_the_lock(
    *, choices: list[int], ends: list[str], starts_dead: bool
) -> None:
    """Three runs, each step of each held up at will; some die holding it, the others release."""
    contest, schedule = Contest(), Schedule(choices)
    if starts_dead:
        contest.run("ghost", "die")
    contest.files.before = lambda _verb, _name: schedule.step()
    threads = [
        threading.Thread(target=contest.run, args=each, daemon=True)
        for each in zip("ABC", ends, strict=True)
    ]
    schedule.drive(threads)
    assert contest.most <= 1
    assert contest.robbed == []


TICK = timedelta(milliseconds=10)


def test_a_lock_is_renewed_while_something_long_goes_on() -> None:
    """A listing of a large bucket takes hours, and renews nothing by itself."""
    files = SteppedFiles()
    lock = take(files)
    with Renewal(lock, every=TICK) as renewal:
        files.now += 2 * TIME_TO_LIVE
        renewed_at = files.now
        deadline = time.monotonic() + speed.patience()
        while files.modified_at(f"{FOLDER}/{lock.name}") != renewed_at:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        renewal.check()
    files.now += 2 * TIME_TO_LIVE
    time.sleep(0.05)
    assert files.modified_at(f"{FOLDER}/{lock.name}") == renewed_at


def lost(renewal: Renewal) -> OrphanGcError:
    """Return why a lock was lost, as soon as it was noticed."""
    deadline = time.monotonic() + speed.patience()
    while time.monotonic() < deadline:
        try:
            renewal.check()
        except OrphanGcError as err:
            return err
        time.sleep(0.005)
    raise AssertionError("nobody noticed")


def test_a_lock_that_was_taken_over_is_noticed_while_something_goes_on() -> None:
    """Another run took this one for dead: it must stop before it acts on what it sees."""
    files = SteppedFiles()
    with Renewal(take(files), every=TICK) as renewal:
        take(files, "run-2", dead=("run-1",))
        assert isinstance(lost(renewal), LockHeldError)


def test_a_state_location_that_does_not_answer_for_long_ends_the_run(monkeypatch) -> None:
    """Long before others may take it for dead; a short silence does no harm."""
    files = SteppedFiles()
    lock = take(files)
    failures = []

    def silent(verb: str, _: str) -> None:
        failures.append(verb)
        raise StorageUnreachableError("no answer")

    files.before = silent
    with Renewal(lock, every=TICK) as renewal:
        while len(failures) < 5:
            time.sleep(0.005)
        renewal.check()
        monkeypatch.setattr("orphangc.collect.state.lock._GIVES_UP_AFTER", timedelta(0))
        assert isinstance(lost(renewal), StorageUnreachableError)


def test_a_check_renews_nothing() -> None:
    """A process that deletes for a run looks at the lock; only the run itself keeps it."""
    files = SteppedFiles()
    lock = take(files)
    then = files.now
    files.now += SECOND
    lock.check()
    assert files.modified_at(f"{FOLDER}/{lock.name}") == then
    take(files, "run-2", dead=("run-1",))
    with pytest.raises(LockHeldError):
        lock.check()
