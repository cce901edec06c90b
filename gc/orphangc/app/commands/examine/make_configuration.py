"""``init``: ask, probe, write a commented configuration, and examine it."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml

from flinkstate.files.paths import located
from flinkstate.text.shown_text import visible
from orphangc.adapters.flink.ha_metadata import KubernetesHa
from orphangc.adapters.open import open_storage
from orphangc.app.commands.health import Check, CheckStatus, probe_cluster, probe_ha, probe_state
from orphangc.app.commands.world.show import unlisted_cycle_of
from orphangc.app.config.validate import settings_from
from orphangc.app.render.world_tables import statement
from orphangc.collect.observe.checkpoints import scan_checkpoints
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobState
from orphangc.errors import OrphanGcError, SettingsError


@dataclass(slots=True, kw_only=True)
class Wishes:
    """What options and answers say.

    Attributes:
        several: Values of the settings that may have several, by the names of the settings.
        takes_proposals: Whether a proposal is the answer to each question that is no statement.
    """

    root: str | None
    state: str | None
    several: dict[str, list[str]]
    closed_world: bool
    mode: str
    is_interactive: bool
    takes_proposals: bool


def make_configuration(wishes: Wishes, out: Path, *, replaces: bool) -> None:
    """Ask for what is missing, probe everything, and write the configuration file.

    Raises:
        SettingsError: The file exists, or something is missing, and no person can answer.
        OrphanGcError: The storage root or the state location cannot be used.
    """
    if out.exists() and not replaces:
        raise SettingsError(f"{out} exists: name another file with --out, or replace it: --replace")
    _places(wishes)
    _clusters(wishes)
    settings = settings_from({"root": wishes.root, "state": wishes.state, **wishes.several})
    _statements(wishes, settings)
    try:
        out.write_text("".join(f"{line}\n" for line in _lines(wishes)), encoding="utf-8")
    except OSError as err:
        raise SettingsError(f"{out} cannot be written: {err.strerror}") from err
    _say(f"{out} is written")


def _places(wishes: Wishes) -> None:
    if wishes.root is None:
        wishes.root = _asked(wishes, "Storage root (state.checkpoints.dir)", "--root", None)
    root = located(wishes.root)
    wishes.root = str(root)
    scan = scan_checkpoints(open_storage(root, state=None))
    _say(f"{root}: {scan.counts}")
    if not scan.directories:
        _say("  no job directory is there: is this the folder that holds them?")
    if wishes.state is None:
        beside = f"{root.parent}/orphangc-state".replace("//orphangc", "/orphangc")
        wishes.state = _asked(wishes, "State location, outside the root", "--state", beside)
    wishes.state = str(located(wishes.state))  # the run that reads the file begins elsewhere
    settings = settings_from({"root": wishes.root, "state": wishes.state})
    _say(probe_state(settings)[1])


_QUESTIONS = {
    "flink_rest": "Flink REST endpoints of all clusters that write here",
    "kubernetes_ha": "Kubernetes namespaces with Flink's HA metadata",
    "extra_roots": "Savepoint folders, and other storages that may refer here",
}


def _clusters(wishes: Wishes) -> None:
    several = wishes.several
    for name, question in _QUESTIONS.items():
        several[name] = _several(wishes, several[name], question)
    several["extra_roots"] = [str(located(each)) for each in several["extra_roots"]]
    probes: list[tuple[str, Check]] = [
        *((url, partial(probe_cluster, url, ())) for url in several["flink_rest"]),
        *((each, partial(probe_ha, KubernetesHa, each)) for each in several["kubernetes_ha"]),
        *((each, partial(_found_in, each)) for each in several["extra_roots"]),
    ]
    for what, probe in probes:
        _say(_probed(what, probe))


def _found_in(uri: str) -> tuple[CheckStatus, str]:
    scan = scan_checkpoints(open_storage(uri, state=None))
    return CheckStatus.GOOD, f"{len(scan.metadata)} checkpoints and savepoints"


def _probed(what: str, probe: Check) -> str:
    try:
        return f"{what}: {probe()[1]}"
    except OrphanGcError as err:
        return f"{what}: {err}"


def _statements(wishes: Wishes, settings: StorageRootSettings) -> None:
    """Ask a person for each statement, with what it covers; nothing else ever answers one."""
    if not wishes.is_interactive:
        return
    known = unlisted_cycle_of(settings)
    silent = sorted(
        job.job_id
        for job in known.jobs.values()
        if job.is_collected and job.job_id and job.state is JobState.UNKNOWN
    )
    for job_id in silent:
        if _agreed(f"No cluster shows job {job_id}. State that it is over for good?"):
            wishes.several["ended_job"].append(job_id)
    if not wishes.closed_world:
        _say(statement(known.world))
        wishes.closed_world = _agreed(
            "State that no checkpoint outside these places refers to files here?"
        )


def _lines(wishes: Wishes) -> Iterator[str]:
    yield "# Configuration of orphangc run and orphangc serve; orphangc init wrote it."
    yield "# All keys: orphangc config schema. Check it: orphangc doctor --config FILE."
    yield f"mode: {wishes.mode}  # report, quarantine or delete; a first run only reports"
    yield 'schedule: "6h"  # of orphangc serve: five cron fields, or a duration'
    yield "storage_roots:"
    yield f"  - root: {_scalar(wishes.root)}  # holds the job directories"
    yield f"    state: {_scalar(wishes.state)}  # tombstones, journal, lock, history"
    several, every = wishes.several, "every cluster whose jobs write here or refer here"
    yield from _listed("flink_rest", several["flink_rest"], every)
    yield from _listed(
        "kubernetes_ha", several["kubernetes_ha"], "show jobs that are only suspended"
    )
    yield from _listed("extra_root", several["extra_roots"], "savepoints and other storages")
    yield "    # Statements: only a person can know them. Each is about this storage root."
    yield from _listed("ended_job", several["ended_job"], "jobs that are over for good, or all")
    said = "" if wishes.closed_world else "# "
    yield f"    {said}closed_world: true  # no checkpoint outside the searched places refers here"
    yield "    grace_period: 72h  # what is younger is no orphan: longer than any checkpoint takes"
    yield "    quarantine_period: 24h  # between tombstone and deletion"


def _listed(key: str, values: Sequence[str], meaning: str) -> Iterator[str]:
    shown = ", ".join(map(_scalar, values))
    yield f"    {'' if values else '# '}{key}: [{shown}]  # {meaning}"


def _scalar(value: str | None) -> str:
    return yaml.safe_dump(value, default_style='"', width=10_000).strip()


def _asked(wishes: Wishes, question: str, option: str, proposal: str | None) -> str:
    if proposal is not None and (wishes.takes_proposals or not wishes.is_interactive):
        return proposal
    if not wishes.is_interactive:
        raise SettingsError(f"no person can answer here: give {option}")
    shown = "" if proposal is None else f" [{proposal}]"
    while True:
        answer = _answer(f"{question}{shown}: ") or proposal
        if answer:
            return answer


def _several(wishes: Wishes, given: list[str], question: str) -> list[str]:
    if given or wishes.takes_proposals or not wishes.is_interactive:
        return given
    return _answer(f"{question} (with blanks between; none: empty): ").split()


def _agreed(question: str) -> bool:
    return _answer(f"{question} [y/N]: ").lower() in {"y", "yes"}


def _answer(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise SettingsError("the answers ended: nothing was written")
    return line.strip()


def _say(text: str) -> None:
    sys.stderr.write(f"{visible(text)}\n")
