"""Leader election and its fence over real HTTP: one leads, and never two."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest

from kubernetes_server import KubernetesServer
from orphangc.adapters.kubernetes_lease import LeaseElection, LeaseFence, LeaseSettings
from orphangc.errors import LockHeldError, SettingsError

T0 = datetime(2026, 11, 1, 12, tzinfo=UTC)
SETTINGS = LeaseSettings(
    namespace="flink",
    lease_duration=timedelta(seconds=1.5),
    renew_deadline=timedelta(seconds=0.9),
    retry_period=timedelta(seconds=0.1),
)
PATIENCE = 10.0


@pytest.fixture
def server(tmp_path, monkeypatch):
    with KubernetesServer() as running:
        monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig(tmp_path)))
        yield running


@dataclass
class Daemon:
    """Somebody who wants to lead, with a clock of its own."""

    name: str
    settings: LeaseSettings = SETTINGS
    clock: datetime = T0
    heard: list[tuple[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin."""
        self.election = LeaseElection(
            self.settings,
            self.name,
            lambda: self.heard.append(("started", time.monotonic())),
            lambda: self.heard.append(("stopped", time.monotonic())),
            now=lambda: self.clock,
        )
        self.election.start()

    @property
    def words(self) -> list[str]:
        """What it was told."""
        return [word for word, _ in self.heard]

    def at(self, word: str) -> float:
        """When it was first told so."""
        return next(at for each, at in self.heard if each == word)


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition that must come true."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def daemons():
    """Makes daemons, and stops them all."""
    made: list[Daemon] = []

    def make(name: str, **changes) -> Daemon:
        made.append(Daemon(name, **changes))
        return made[-1]

    yield make
    for each in made:
        each.election.stop()


def vanish(daemon: Daemon) -> None:
    """Let a daemon's process end without a word: its thread does nothing any more."""
    daemon.election._try = lambda: time.sleep(0.01)
    daemon.election._release = lambda: None


def test_the_first_one_leads_and_says_so_in_the_lease(server, daemons) -> None:
    """Created, with times as the API wants them spelled."""
    one = daemons("one")
    until(lambda: one.election.is_leader and one.words == ["started"])
    spec = server.lease()
    assert spec["holderIdentity"] == one.election.leader == "one"
    assert (spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (2, 0)
    assert re.fullmatch(r"2026-11-01T12:00:00\.\d{6}\+00:00", spec["renewTime"])


def test_the_leader_renews_and_the_other_waits(server, daemons) -> None:
    """For much longer than the lease lasts."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    two = daemons("two")
    until(lambda: two.election.leader == "one")
    time.sleep(SETTINGS.lease_duration.total_seconds() * 1.5)
    assert one.election.is_leader
    assert not two.election.is_leader
    assert (one.words, two.words) == (["started"], [])
    assert server.lease()["leaseTransitions"] == 0


def test_one_that_stops_gives_the_lease_back_at_once(server, daemons) -> None:
    """Nobody has to wait until it runs out."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    two = daemons("two")
    until(lambda: two.election.leader == "one")
    one.election.stop()
    assert one.words == ["started", "stopped"]
    assert not one.election.is_leader
    until(lambda: two.election.is_leader)
    assert time.monotonic() - one.at("stopped") < SETTINGS.lease_duration.total_seconds()
    assert server.lease()["leaseTransitions"] == 1


def test_a_released_lease_has_no_holder(server, daemons) -> None:
    """And runs for a second more, by its own word."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    one.election.stop()
    spec = server.lease()
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)
    one.election.stop()  # twice is fine


def test_one_that_vanishes_is_followed_when_its_lease_has_run_out(server, daemons) -> None:
    """Kill -9."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    two = daemons("two")
    until(lambda: two.election.leader == "one")
    vanish(one)
    gone_at = time.monotonic()
    until(lambda: "started" in two.words)
    assert two.at("started") - gone_at > SETTINGS.lease_duration.total_seconds() * 0.8
    until(lambda: "stopped" in one.words)
    assert one.at("stopped") < two.at("started")
    assert server.lease()["holderIdentity"] == two.election.leader == "two"


@pytest.mark.parametrize("jump", [timedelta(days=-400), timedelta(hours=5), timedelta(days=400)])
@pytest.mark.usefixtures("server")
def test_clocks_that_differ_and_jump_make_no_difference(daemons, jump) -> None:
    """What the other's clock says is never compared with ours."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    two = daemons("two", clock=T0 + jump)
    until(lambda: two.election.leader == "one")
    one.clock += jump * 2
    time.sleep(SETTINGS.lease_duration.total_seconds() * 1.2)
    assert (one.words, two.words) == (["started"], [])
    vanish(one)
    until(lambda: two.election.is_leader)


@pytest.mark.parametrize("how", ["refused", "silent", "ill", "forbidden"])
def test_a_leader_that_cannot_renew_stops_before_others_may_lead(server, daemons, how) -> None:
    """The API server is gone, or unreachable for the leader only."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    two = daemons("two")
    until(lambda: two.election.leader == "one")
    cut_off(server, how)
    until(lambda: "stopped" in one.words)
    assert not one.election.is_leader
    assert two.words == []
    mend(server, how)
    until(lambda: one.election.is_leader or two.election.is_leader)
    assert not (one.election.is_leader and two.election.is_leader)


def cut_off(server: KubernetesServer, how: str) -> None:
    if how == "refused":
        server.port = server.stop()
    elif how == "forbidden":
        server.denied.add("leases")
    else:
        server.faults["leases"] = 500 if how == "ill" else lambda _: server.stopped.wait(1)


def mend(server: KubernetesServer, how: str) -> None:
    if how == "refused":
        server.start(server.port)
    server.denied.clear()
    server.faults.clear()


def test_is_leader_ends_by_itself_while_the_thread_is_stuck(server, daemons) -> None:
    """A request that never ends must not make anybody believe that it leads."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    one.election._try = lambda: server.stopped.wait(2)
    until(lambda: not one.election.is_leader)
    assert one.words == ["started"]  # not told yet; whoever asks knows


def test_of_many_who_begin_at_once_one_leads(server, daemons) -> None:
    """Creation and replacement are decided by the server: the others get 409."""
    barrier = Barrier(4)
    posts = server.answer

    def together(handler, body) -> None:
        if handler.command == "POST":
            barrier.wait(5)
        posts(handler, body)

    server.answer = together
    many = [daemons(f"daemon-{number}") for number in range(4)]
    until(lambda: all(each.election.leader for each in many))
    assert sum(each.election.is_leader for each in many) == 1


def test_a_lease_that_somebody_takes_away_is_lost(server, daemons) -> None:
    """A person, with kubectl edit."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    stored = server.objects["leases"]["orphangc"]
    stored["spec"] |= {"holderIdentity": "somebody", "leaseDurationSeconds": 3600}
    stored["metadata"]["resourceVersion"] = "9999"
    until(lambda: one.words == ["started", "stopped"])
    assert (one.election.is_leader, one.election.leader) == (False, "somebody")
    assert server.lease()["holderIdentity"] == "somebody"


def test_a_deleted_lease_is_made_again_by_its_holder_first(server) -> None:
    """Whoever saw another hold it waits as long as for one that vanished."""
    one, two = (
        LeaseElection(SETTINGS, name, lambda: None, lambda: None, now=lambda: T0)
        for name in ("one", "two")
    )
    for each in (one, two):
        each._try()
    assert (one.is_leader, two.leader) == (True, "one")
    del server.objects["leases"]["orphangc"]
    two._try()
    assert (two.is_leader, server.objects["leases"]) == (False, {})
    one._try()
    assert (one.is_leader, server.lease()["holderIdentity"]) == (True, "one")
    del server.objects["leases"]["orphangc"]
    time.sleep(SETTINGS.lease_duration.total_seconds() + 0.6)  # it says two seconds: whole ones
    two._try()
    assert (one.is_leader, two.is_leader) == (False, True)
    for each in (one, two):
        each._lease.close()


@pytest.mark.parametrize(
    ("lease", "renew", "retry"),
    [(10, 10, 2), (15, 16, 2), (15, 2, 2), (15, 10, 0), (0.9, 0.5, 0.1)],
)
def test_settings_with_which_two_could_lead_are_refused(lease, renew, retry) -> None:
    """A leader stops before others may start."""
    with pytest.raises(SettingsError, match="leader election"):
        LeaseSettings(
            lease_duration=timedelta(seconds=lease),
            renew_deadline=timedelta(seconds=renew),
            retry_period=timedelta(seconds=retry),
        )


# --------------------------------------------------------------------------- the fence


@pytest.mark.usefixtures("server")
def test_the_fence_lets_pass_while_its_daemon_leads(daemons) -> None:
    """Asked each time: one GET."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    fence = LeaseFence(SETTINGS, "one")
    for _ in range(3):
        fence.check()
    fence.close()


@pytest.mark.parametrize("holder", ["two", "", None])
def test_the_fence_stops_when_somebody_else_or_nobody_leads(server, daemons, holder) -> None:
    """Checked before every batch of deletions."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    fence = LeaseFence(SETTINGS, "one")
    fence.check()
    one.election.stop()
    if holder is None:
        del server.objects["leases"]["orphangc"]
    else:
        server.objects["leases"]["orphangc"]["spec"]["holderIdentity"] = holder
    with pytest.raises(LockHeldError, match=f"held by {holder or 'nobody'}"):
        fence.check()


@pytest.mark.usefixtures("server")
def test_the_fence_stops_when_its_daemon_renews_no_more(daemons) -> None:
    """Then others may lead soon."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    fence = LeaseFence(SETTINGS, "one")
    vanish(one)
    time.sleep(SETTINGS.retry_period.total_seconds())
    fence.check()
    time.sleep(SETTINGS.renew_deadline.total_seconds())
    with pytest.raises(LockHeldError, match="not renewed"):
        fence.check()


def test_the_fence_stops_when_the_lease_cannot_be_read(server, daemons) -> None:
    """What was true a moment ago is no permission."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    fence = LeaseFence(SETTINGS, "one")
    fence.check()
    server.faults["leases"] = 503
    began = time.monotonic()
    with pytest.raises(LockHeldError, match="cannot be read"):
        fence.check()
    assert time.monotonic() - began < SETTINGS.lease_duration.total_seconds() + 1


def test_the_fence_waits_for_a_server_that_comes_back(server, daemons) -> None:
    """An API server that restarts stops no sweep."""
    one = daemons("one")
    until(lambda: one.election.is_leader)
    fence = LeaseFence(SETTINGS, "one")
    asked = server.asked["GET leases"]
    server.faults["leases"] = 503

    def mended(seconds: float) -> None:
        if server.asked["GET leases"] > asked + 2:
            server.faults.clear()
        time.sleep(seconds)

    fence._pause = mended
    fence.check()
