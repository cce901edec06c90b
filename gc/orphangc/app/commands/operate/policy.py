"""``policy``: the least permissions that runs need, as a provider's own policy document."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from flinkstate.files.paths import overlap
from flinkstate.places.locations import canonical
from flinkstate.text.shown_text import visible
from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.config.validate import settings_from
from orphangc.app.console.options import Partition, Provider
from orphangc.app.render.text_table import as_text, text_table
from orphangc.app.wiring.discovering import load_and_discover
from orphangc.core.iam.aws import AWS_LIMITS, CEPH_LIMITS, MOST_CHARACTERS, aws_policy
from orphangc.core.iam.azure import AZURE_LIMITS, azure_policy
from orphangc.core.iam.gcp import GCS_LIMITS, gcs_policy
from orphangc.core.iam.permissions import Purpose, Right, StorageNeed, needs_of
from orphangc.core.model.shown import RunMode
from orphangc.errors import SettingsError


@dataclass(frozen=True, slots=True)
class _OfProvider:
    """How one provider's policies are made.

    Attributes:
        scheme: Scheme family of its storages.
        limits: What its policies cannot express.
    """

    scheme: str
    limits: tuple[str, ...]
    document: Callable[[tuple[StorageNeed, ...], Partition], dict[str, Any]]


_PROVIDERS: Mapping[Provider, _OfProvider] = {
    Provider.AWS: _OfProvider(
        "s3", AWS_LIMITS, lambda needs, partition: aws_policy(needs, partition=partition)
    ),
    Provider.CEPH: _OfProvider("s3", CEPH_LIMITS, lambda needs, _: aws_policy(needs, is_ceph=True)),
    Provider.GCS: _OfProvider("gs", GCS_LIMITS, lambda needs, _: gcs_policy(needs)),
    Provider.AZURE: _OfProvider("abfs", AZURE_LIMITS, lambda needs, _: azure_policy(needs)),
}
_OF_ALL = (
    (
        "job directories are those directly below a storage root: name the folder that they lie in"
        " as the root, or deletions deeper are refused"
    ),
    (
        "checkpoints that Flink or its HA metadata reports elsewhere are read too: name their"
        " folders as extra roots, or no plan is made"
    ),
    (
        "other storage roots of the same state location, places that earlier cycles saw, and the"
        " folder around a storage root that holds shared or chk-* itself are searched too: name"
        " them as extra roots, or deletions are blocked"
    ),
)


_UNCOVERED = (
    "savepoints that may expire (expire --savepoints) are not covered by this policy: allow to"
    " delete and write objects in their folders savepoint-*/, or nothing expires"
)


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy, what it grants, and remarks: also on what the provider cannot express."""

    needs: tuple[StorageNeed, ...]
    document: dict[str, Any]
    notes: tuple[str, ...]


def make_policy(
    provider: Provider,
    *,
    values: Mapping[str, Any],
    config: Path | None,
    mode: RunMode | None,
    rights: Mapping[str, bool],
    partition: Partition,
) -> Policy:
    """Return the policy of one storage root, or of all that a configuration file names.

    Args:
        mode: Highest mode of the runs; by default the file's, or ``delete`` without a file.
        rights: What is asked for beside runs, as ``needs_of`` takes it; whether checkpoints may
            expire, a file says itself.

    Raises:
        SettingsError: The settings are not usable, or the provider cannot express them.
    """
    wanted, notes = _wanted(values, config, mode, rights)
    needs = tuple(need for each in wanted for need in each if _is_of(provider, need))
    if not any(need.purpose is Purpose.LOOK for need in needs):
        begin = f"its URIs begin with {_PROVIDERS[provider].scheme}://"
        raise SettingsError(f"no storage root is of provider {provider}: {begin}")
    try:
        document = _PROVIDERS[provider].document(needs, partition)
    except ValueError as err:
        raise SettingsError(str(err)) from err
    elsewhere = {need.place for each in wanted for need in each if not _is_of(provider, need)}
    return Policy(
        needs,
        document,
        (
            *(
                f"{visible(place)} is not of provider {provider}: nothing here is about it"
                for place in sorted(map(str, elsewhere))
            ),
            *_notes(provider, needs, document),
            *notes,
        ),
    )


def _wanted(
    values: Mapping[str, Any], config: Path | None, mode: RunMode | None, rights: Mapping[str, bool]
) -> tuple[list[tuple[StorageNeed, ...]], list[str]]:
    if (config is None) == (values.get("root") is None):
        raise SettingsError("name one storage root with --root, or all of them with --config")
    if config is None:
        needs = needs_of(settings_from(values), mode=mode or RunMode.DELETE, work=None, **rights)
        return [needs], [_UNCOVERED] if rights["may_expire"] else []
    if rights["may_expire"] or any(value for name, value in values.items() if name != "root"):
        raise SettingsError("with --config, the file says all of the storage roots")
    roots = load_and_discover(config).configuration.storage_roots
    _check_apart(roots)
    wanted = [
        needs_of(
            each,
            mode=mode or each.mode or RunMode.REPORT,
            work=each.work,
            **{**rights, "may_expire": each.expire is not None},
        )
        for each in roots
    ]
    places = {place for each in roots if each.expire for place in each.expire.savepoints}
    return wanted, [
        f"savepoints below {visible(place)} may expire, and this policy does not cover that: allow"
        " to delete and write objects in its folders savepoint-*/"
        for place in sorted(places)
    ]


def _check_apart(roots: Sequence[ScheduledRoot]) -> None:
    """Make sure that no identity may write or delete freely beside checkpoints."""
    for each in roots:
        for own in (each.state, each.work):
            for other in roots:
                if own is not None and overlap(canonical(own), other.location):
                    raise SettingsError(
                        f"{own}, which runs write into and delete from, overlaps with storage root"
                        f" {other.root}: a policy would let them delete checkpoints; choose another"
                    )


def _is_of(provider: Provider, need: StorageNeed) -> bool:
    return need.place.scheme == _PROVIDERS[provider].scheme


def _notes(
    provider: Provider, needs: Iterable[StorageNeed], document: dict[str, Any]
) -> Iterable[str]:
    yield from _OF_ALL
    yield from _PROVIDERS[provider].limits
    is_s3 = _PROVIDERS[provider].scheme == "s3"
    if is_s3 and any(need.right is Right.RESTORE for need in needs):
        yield (
            "who may bring back may also delete for good: keep s3:DeleteObjectVersion for a role"
            " of its own"
        )
    size = len("".join(json.dumps(document).split()))
    if provider is Provider.AWS and size > MOST_CHARACTERS:
        yield f"{size} characters are more than the {MOST_CHARACTERS} of a managed policy: split it"


def policy_tables(policy: Policy) -> list[RenderableType]:
    """Return the permissions as a table, the notes, and how to get the policy itself."""
    rows = ((need.right, need.what, need.place, need.purpose) for need in policy.needs)
    notes = (f"note: {each}" for each in policy.notes)
    how = "The policy to attach: the same command with --output json"
    return [text_table(("may", "what", "where", "for"), rows), *map(as_text, (*notes, how))]
