"""Checks of ``doctor``, their status and findings; single tries of what a configuration names."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from flinkstate.places.locations import Location, canonical
from flinkstate.text.redaction import redacted
from flinkstate.text.shown_text import counted, visible
from orphangc.adapters.flink.flink_rest import FlinkRest
from orphangc.adapters.flink.ha_metadata import KubernetesHa, ZooKeeperHa
from orphangc.adapters.open import open_storage
from orphangc.app.wiring.compose import REST_TIMEOUT, state_of
from orphangc.app.wiring.searched_places import storage_here
from orphangc.collect.listing.first_pages import estimated_objects
from orphangc.collect.world.memory_files import read_memory
from orphangc.core.cluster.job_facts import eligibility_problem
from orphangc.core.memory.seen_cycles import STORAGE
from orphangc.core.model.flink_versions import is_tested_version
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.shown import SearchScope
from orphangc.errors import ExitCode, OrphanGcError


class CheckStatus(StrEnum):
    """Status of a check."""

    GOOD = "good"
    NOTE = "note"
    """Nothing is wrong, and something could not be looked at."""
    WARNING = "warning"
    BAD = "bad"


Check = Callable[[], tuple[CheckStatus, str]]


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding of one check of one storage root."""

    root: str
    check: str
    health: CheckStatus
    message: str
    exit_code: int = 0


def checked(root: str, checks: Mapping[str, Check]) -> Iterator[Finding]:
    """Yield the finding of each check in turn."""
    for name, check in checks.items():
        yield _found(root, name, check)


def checked_storage(root: str, checks: Mapping[str, Check]) -> Iterator[Finding]:
    """Yield the same of one storage; where the first check cannot open or reach it, that alone."""
    for number, finding in enumerate(checked(root, checks)):
        yield finding
        if number == 0 and finding.exit_code in {ExitCode.UNREACHABLE, ExitCode.USAGE}:
            return


def _found(root: str, name: str, check: Check) -> Finding:
    try:
        health, message = check()
    except OrphanGcError as err:
        return bad(root, name, err)
    return Finding(root, name, health, message)


def bad(root: str, name: str, err: OrphanGcError) -> Finding:
    """Return the finding of a check that failed."""
    return Finding(root, name, CheckStatus.BAD, redacted(str(err)), int(err.exit_code))


def probe_state(settings: StorageRootSettings) -> tuple[CheckStatus, str]:
    """Try every operation on the state location, with a temporary name."""
    state = state_of(settings)
    name = f"{state.folder}/doctor-{uuid.uuid4().hex}"
    is_first = state.files.create(name, b"1")
    is_second = state.files.create(name, b"2")
    content = state.files.read(name)
    state.files.remove(name)
    if not is_first or is_second or content != b"1" or state.files.read(name) is not None:
        return CheckStatus.BAD, f"{state.files.location} cannot hold a lock"
    return CheckStatus.GOOD, f"{state.files.location} lists, reads, writes, creates and deletes"


def probe_cluster(url: str, accepted: Sequence[str]) -> tuple[CheckStatus, str]:
    """Ask a cluster for its version and its jobs, or raise ``OrphanGcError``."""
    cluster = FlinkRest(url, timeout=REST_TIMEOUT).observe()
    version = cluster.flink_version
    if not is_tested_version(version) and version not in accepted:
        return CheckStatus.WARNING, f"Flink {version} is not in the tested list"
    alive = [job for job in cluster.jobs.values() if not job.is_globally_terminal]
    problems = (eligibility_problem(job) for job in alive)
    problem = next((each for each in problems if each is not None), None)
    if problem is not None:
        return CheckStatus.WARNING, problem
    return CheckStatus.GOOD, f"Flink {version}, {counted(len(alive), 'job')} alive"


def probe_ha(kind: type[KubernetesHa | ZooKeeperHa], place: str) -> tuple[CheckStatus, str]:
    """List the HA metadata in a Kubernetes namespace or a ZooKeeper, or raise ``OrphanGcError``."""
    facts = kind(place, timeout=REST_TIMEOUT).observe()
    jobs = {hold.job_id for hold in facts.holds}
    if not facts.things:
        return CheckStatus.WARNING, f"{facts.uri} shows nothing of Flink's: mistyped?"
    return CheckStatus.GOOD, (
        f"{counted(facts.things, 'thing')} listed: {counted(len(jobs), 'job')} not over,"
        f" {counted(len(facts.places), 'checkpoint or savepoint', 'checkpoints and savepoints')}"
        " named"
    )


_ENOUGH = 20_000
"""Keys up to which a storage is counted: twenty pages of S3."""
_PAGE = 1000
_USD = 0.005 / 1000
"""Price of a LIST request of S3 in most regions."""


def search_estimate(settings: StorageRootSettings) -> str:
    """Return what a search lists, in a sentence for each storage, or raise ``OrphanGcError``."""
    if settings.search is SearchScope.PLACES:
        return "the named places alone are searched (search: places)"
    known = {
        each.uri: each.keys
        for each in read_memory(state_of(settings)).memory.places
        if each.kind == STORAGE
    }
    return "; ".join(_sentences(settings, known))


def _sentences(settings: StorageRootSettings, known: Mapping[str, int | None]) -> Iterator[str]:
    root, named = settings.location, map(storage_here, settings.own_places)
    for place in dict.fromkeys((*filter(None, named), *map(canonical, known))):
        keys = known.get(str(place))
        beside = " beside the storage root" if place.contains(root) else ""
        if keys is None:
            what = _counted(place)
        else:
            what = f"{keys:,} keys{beside} in the last run, {_cost(keys)}"
        if settings.inventory is not None and place.contains(root):
            what += ", less what is below the storage root: the inventory lists that"
        yield f"all of {visible(str(place))} is searched: {what}"


def _counted(place: Location) -> str:
    found = estimated_objects(open_storage(place), _ENOUGH)
    if found.is_exact:
        return f"{found.objects:,} keys, {_cost(found.objects)}"
    return f"more than {_ENOUGH:,} keys; each million takes {_cost(1_000_000)}"


def _cost(keys: int) -> str:
    requests = -(-keys // _PAGE)
    return f"{counted(requests, 'LIST request')}, {requests * _USD:.3f} USD on S3"
