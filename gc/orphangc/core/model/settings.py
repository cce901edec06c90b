"""What an operator may say about one storage root: options of ``plan``, keys of the YAML file."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from datetime import timedelta
from types import MappingProxyType
from typing import Annotated, Self
from urllib.parse import urlsplit, urlunsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from flinkstate.places.checkpoint_names import is_job_id
from flinkstate.places.locations import IN_NO_NAME, Alias, Location, canonical, parse_alias
from flinkstate.text.redaction import redacted
from orphangc.core.model.bounds import SafetyMargins
from orphangc.core.model.flink_versions import is_build_of_tested_line
from orphangc.core.model.shown import SearchScope, Shown
from orphangc.core.model.types import AreaName

SAFE_MINIMUMS: Mapping[str, tuple[timedelta, str]] = MappingProxyType(
    {
        "grace_period": (timedelta(hours=24), "what a checkpoint still writes would look orphaned"),
        "quarantine_period": (
            timedelta(hours=24),
            "no second cycle, a day later, would confirm what one cycle found",
        ),
        "quiet_period": (
            timedelta(hours=24),
            "a job that is suspended for the night, or checkpoints once a day, would look ended",
        ),
        "clock_skew": (
            timedelta(minutes=1),
            "store times have whole seconds, and the clocks of a store's machines differ by more",
        ),
    }
)
"""Safe minimum of each margin, and what happens below it (R9, R13, R17, R29)."""

_DURATION = re.compile(r"(?:(\d+)[dD])?(?:(\d+)[hH])?(?:(\d+)[mM])?(?:(\d+)[sS])?", re.ASCII)
_MINIMAL_PLAN_LIFE = timedelta(hours=1)
_ACKNOWLEDGED = re.compile(r"(.+)=([0-9a-f]{64})", re.ASCII)


_NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_ZOOKEEPER = re.compile(r"[^\s/,@]+:[0-9]{1,5}(?:,[^\s/,@]+:[0-9]{1,5})*(?:/[^\s@?#]*)?", re.ASCII)

_LONGEST = timedelta(days=10_000)
"""More, subtracted from now, may leave the calendar."""


def parse_duration(value: object) -> object:
    """Return ``1d12h``, ``15m``, ``30s`` or ``0`` as a duration, or raise ``ValueError``.

    A number without a unit is none: YAML's ``quarantine_period: 24`` means hours to a person.
    """
    if isinstance(value, timedelta):
        return value
    text = str(value).strip()
    match = _DURATION.fullmatch(text)
    if text != "0" and (not text or match is None):
        raise ValueError(f"{value!r} is no duration; write 72h, 15m, 7d or 1d12h")
    parts = [int(part or 0) for part in match.groups()] if match else [0] * 4
    days, hours, minutes, seconds = parts
    if days * 86_400 + hours * 3600 + minutes * 60 + seconds > _LONGEST.total_seconds():
        raise ValueError(f"{text[:20]!r} is longer than 10,000 days")
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _in_range(value: timedelta) -> timedelta:
    if value < timedelta(0):
        raise ValueError("a duration cannot be negative")
    if value > _LONGEST:
        raise ValueError("the duration is longer than 10,000 days")
    if value.microseconds:
        raise ValueError("a duration must be whole seconds: a plan spells no parts of them")
    return value


def _in_words(value: timedelta) -> str:
    minutes = int(value.total_seconds()) // 60
    return f"{minutes}m" if minutes % 60 else f"{minutes // 60}h"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    AfterValidator(_in_range),
    PlainSerializer(
        lambda value: f"{int(value.total_seconds())}s", return_type=str, when_used="json"
    ),
    WithJsonSchema(
        {"type": ["string", "integer"], "minimum": 0, "maximum": 0}  # the only number that is one
        | {"pattern": rf"^\s*\b(0|{_DURATION.pattern})\s*$"}  # Helm cannot look ahead
    ),
]
"""A duration as people write it; whole seconds."""


def _place(value: str) -> str:
    if IN_NO_NAME.search(value):
        raise ValueError("a place must not hold a NUL, or half of a character")
    if ":" in canonical(value).authority.rpartition("@")[0]:
        raise ValueError(
            "a place must not hold a password, which plans, logs and metrics would show: give"
            " credentials in the environment"
        )
    return value


def _alias(value: str) -> str:
    alias = parse_alias(value)
    for place in (alias.source, alias.target):
        _place(str(place))
    return value


def _ended_job(value: str) -> str:
    if value != "all" and not is_job_id(value):
        raise ValueError(f"{value!r} is neither 'all' nor a job id of 32 lower-case hex digits")
    return value


def _owner(value: str | None) -> str | None:
    if value is not None and not is_job_id(value):
        raise ValueError(f"{value!r} is no job id of 32 lower-case hex digits")
    return value


def _flink_version(value: str) -> str:
    if not is_build_of_tested_line(value):
        raise ValueError(
            f"{value!r} is no build of a tested Flink release: give the exact version that Flink's"
            " REST API shows, such as 1.18.1-amzn-0"
        )
    return value


def _acknowledged(value: str) -> str:
    match = _ACKNOWLEDGED.fullmatch(value)
    if match is None:
        raise ValueError(f"{value!r} is not of the form URI=SHA256")
    canonical(match[1])
    return value


def http_url(value: str, what: str) -> str:
    """Return the address of a service, maybe with a user; ``ValueError`` repeats no part of it."""
    try:
        parts = urlsplit(value)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
        is_address = is_address and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise ValueError(f"{what} is an http or https URL, such as http://HOST:8081")
    if parts.query or parts.fragment:
        raise ValueError(f"the address of {what} must end with its path")
    shown = without_credentials(value)
    if "@" in shown or redacted(shown) != shown:
        raise ValueError(
            f"the address of {what} may hold a user and a password before its host only, with"
            " '/' and '@' in them as %2F and %40"
        )
    return value


def without_credentials(value: str) -> str:
    """Return a URL without user and password."""
    parts = urlsplit(value)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _namespace(value: str) -> str:
    if not _NAMESPACE.fullmatch(value):
        raise ValueError(f"{value!r} is no Kubernetes namespace")
    return value


def _zookeeper(value: str) -> str:
    if not _ZOOKEEPER.fullmatch(value):
        raise ValueError(f"{value!r} is not of the form host:port,host:port/path")
    return value


def _shares(value: object) -> object:
    if isinstance(value, list | tuple) and value:
        parts = [str(each).rpartition("=") for each in value]
        value = {job if equals else "default": share for job, equals, share in parts}
        if value.keys() == {"default"}:
            return _share(value["default"])
    if not isinstance(value, Mapping) or not value:
        return _share(value)
    for name in value:
        if name != "default" and not (isinstance(name, str) and is_job_id(name)):
            raise ValueError(f"{name!r} is neither 'default' nor a job id of 32 hex digits")
    return {name: _share(share) for name, share in value.items()}


def _share(value: object) -> float:
    try:
        share = float(str(value))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(f"{value!r} is no share: give a number from 0 to 1")
    return share


_DELETE_SHARE = 0.5
_SHARE_SCHEMA = {"type": "number", "minimum": 0, "maximum": 1}
DeleteShare = Annotated[
    float | dict[str, float],
    BeforeValidator(_shares),
    WithJsonSchema(
        {
            "anyOf": [
                _SHARE_SCHEMA,
                {
                    "type": "object",
                    "propertyNames": {"pattern": "^(default|[0-9a-f]{32})$"},
                    "additionalProperties": _SHARE_SCHEMA,
                },
            ]
        }
    ),
]
"""A part from 0 to 1, or one for each job id, ``default`` for the others."""


def _areas(value: object) -> object:
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        return value
    words = [word.strip() for part in parts for word in str(part).split(",")]
    if not words:
        raise ValueError("no area is named: nothing would be collected")
    return tuple(dict.fromkeys(words))


Areas = Annotated[tuple[AreaName, ...], BeforeValidator(_areas)]
"""Names of areas, at least one."""


def _no_switch(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("true and false are no numbers")  # noqa: TRY004 - pydantic's error
    return value


NO_SWITCH = BeforeValidator(_no_switch)
"""Of a number: a switch of YAML is none, though Python counts with it."""
Whole = Annotated[int, NO_SWITCH]
Price = Annotated[float, NO_SWITCH]


def _switch(value: object) -> object:
    text = str(value).lower()
    if text not in {"true", "false"}:
        raise ValueError(f"{value!r} is no switch: write true or false, without quotes")
    return text == "true"


Switch = Annotated[bool, BeforeValidator(_switch)]
"""Of a statement: nothing else than true is one; the environment has its text."""

IS_PLACE, IS_ALIAS = AfterValidator(_place), AfterValidator(_alias)
"""Marks of what a relative path of a command line is made absolute in."""
Place = Annotated[str, IS_PLACE]
IS_URL = AfterValidator(lambda value: http_url(value, "a Flink REST endpoint"))
RestUrl = Annotated[
    str, IS_URL, PlainSerializer(without_credentials, return_type=str, when_used="json")
]
NamespaceName = Annotated[str, AfterValidator(_namespace)]
AliasText = Annotated[str, IS_ALIAS]
JobOrAll = Annotated[str, AfterValidator(_ended_job)]


class SiblingStatements(BaseModel):
    """What the operator states about the jobs of another storage root of the same file.

    Attributes:
        places: That storage root, and its extra roots that are no storage root's place.
        ended_job: Jobs that are over, or ``all`` of those below these places.
        merged_within: Running jobs that merge files within each checkpoint, or ``all`` of them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    places: tuple[Place, ...]
    ended_job: tuple[str, ...] = ()
    merged_within: tuple[str, ...] = ()

    def is_about(self, directories: Collection[Location]) -> bool:
        """Return whether a job's directories are known, and all of them lie below these places."""
        known = tuple(map(canonical, self.places))
        return bool(directories) and all(
            any(place.contains(each) for place in known) for each in directories
        )


class StorageRootSettings(BaseModel):
    """All settings of one storage root; each field that is ``Shown`` is an option of ``plan``."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        hide_input_in_errors=True,  # an endpoint may contain a password
    )

    root: Place
    """The storage root: the URI that holds the job directories."""
    state: Annotated[Place | None, Shown()] = None
    """Location of tombstones, journal, history and lock; never inside ROOT."""
    grace_period: Annotated[Duration, Shown("Safety margins")] = timedelta(hours=72)
    """Minimum age of an orphan.

    It must be longer than any checkpoint takes.
    """
    quarantine_period: Annotated[Duration, Shown("Safety margins")] = timedelta(hours=24)
    """Minimum time between tombstone and deletion."""
    checkpoint_id_margin: Annotated[Whole, Shown("Safety margins", is_seldom=True)] = Field(
        default=1, ge=0
    )
    """Number of checkpoint ids below the oldest retained one that still count as young."""
    clock_skew: Annotated[Duration, Shown("Safety margins", is_seldom=True)] = timedelta(minutes=15)
    """Tolerance in every comparison of two clocks."""
    quiet_period: Annotated[Duration, Shown("Safety margins", is_seldom=True)] = timedelta(days=7)
    """Time for which an ended job's directory must have been unchanged."""
    allow_short_margins: Annotated[Switch, Shown("Safety margins", is_seldom=True)] = False
    """Accept a grace, quarantine or quiet period below 24h, a clock skew below 1m."""
    allow_short_grace_period: Annotated[Switch, Shown(is_hidden=True)] = False
    """Old name of --allow-short-margins."""
    scope: Annotated[Areas, Shown(is_seldom=True)] = tuple(AreaName)
    """Area to collect: shared, exclusive (chk-N), savepoint, taskowned, changelog, merged or forst
    (default: every area that has a proven rule for the job).

    What is in no such area is counted and kept.
    """
    registry: Annotated[tuple[Place, ...], Shown("Evidence", is_seldom=True)] = ()
    """Registry snapshot, a folder of them, or the folder that exporters write into."""
    registry_wait: Annotated[Duration, Shown("Evidence", is_seldom=True)] = timedelta(minutes=5)
    """Maximum time for a running job's exporter to answer."""
    job_archives: Annotated[
        tuple[Place, ...], Shown("Evidence", metavar="URI", is_seldom=True, is_one=True)
    ] = ()
    """Folder of Flink's JobResultStore, or of archives for the history server: shows which jobs
    ended."""
    extra_roots: Annotated[tuple[Place, ...], Shown("Evidence", is_one=True)] = ()
    """Savepoints and other places whose checkpoints may refer to files here."""
    empty_roots: Annotated[
        tuple[Place, ...], Shown("Evidence", metavar="URI", is_seldom=True, is_one=True)
    ] = ()
    """State that this extra root, or a folder that is gone, holds no checkpoint."""
    siblings: SkipJsonSchema[tuple[Place, ...]] = ()
    """Other storage roots of the same configuration file, which its loader adds."""
    sibling_statements: SkipJsonSchema[tuple[SiblingStatements, ...]] = ()
    """What they state about their own jobs: it holds wherever such a job is read from."""
    named_by_flink: SkipJsonSchema[tuple[Place, ...]] = ()
    """Extra roots and siblings that Flink's own configuration names: one without a checkpoint is
    not misspelled."""
    without_checkpoints: SkipJsonSchema[tuple[Place, ...]] = ()
    """Siblings that it names for something else than checkpoints, and in which none is expected."""
    unclear: SkipJsonSchema[tuple[str, ...]] = ()
    """Parts of what discovery reads that cannot be read, each a sentence."""
    search: Annotated[SearchScope, Shown("Evidence", is_seldom=True)] = SearchScope.STORAGE
    """Search the whole storage around each named place, or the named places alone.

    ``storage``: every checkpoint of the whole bucket, container or mount around each place that
    anything names; ``places``: those places alone.
    """
    search_except: Annotated[
        tuple[Place, ...], Shown("Evidence", metavar="URI", is_seldom=True)
    ] = ()
    """State that this prefix holds no checkpoint: it is not searched."""
    closed_world: Annotated[Switch, Shown("Evidence")] = False
    """State that no checkpoint outside the searched storages refers to files in this one.

    The operator's statement (R3a).
    """
    ended_job: Annotated[tuple[JobOrAll, ...], Shown("Evidence", metavar="JOB|all")] = ()
    """State that this job (or 'all') has ended."""
    merged_within: Annotated[
        tuple[JobOrAll, ...], Shown("Evidence", metavar="JOB|all", is_seldom=True)
    ] = ()
    """State that the running job merges files within each checkpoint alone
    (across-checkpoint-boundary is false), which Flink does not show."""
    owner: Annotated[str | None, AfterValidator(_owner), Shown("Evidence", is_seldom=True)] = None
    """Id of the only job of a directory that is not named by a job id.

    ``create-subdir=false`` makes such directories.
    """
    flink_rest: Annotated[tuple[RestUrl, ...], Shown("Evidence")] = ()
    """Flink REST endpoint to ask."""
    accept_flink_version: Annotated[
        tuple[Annotated[str, AfterValidator(_flink_version)], ...],
        Shown("Evidence", metavar="VERSION", is_seldom=True),
    ] = ()
    """Accept a vendor's build of a tested release, as REST shows it."""
    kubernetes_ha: Annotated[
        tuple[NamespaceName, ...], Shown("Evidence", metavar="NAMESPACE", is_seldom=True)
    ] = ()
    """Namespace whose HA ConfigMaps and Flink resources show which jobs are alive."""
    zookeeper_ha: Annotated[
        tuple[Annotated[str, AfterValidator(_zookeeper)], ...],
        Shown("Evidence", metavar="HOSTS/PATH", is_seldom=True),
    ] = ()
    """ZooKeeper whose HA metadata shows which jobs are alive: ``host:port,host:port/path``."""
    alias: Annotated[tuple[AliasText, ...], Shown("Evidence", metavar="FROM=TO")] = ()
    """Read paths inside ``_metadata`` that start with FROM as starting with TO.

    Each is ``FROM=TO``.
    """
    pin: Annotated[tuple[Place, ...], Shown("Evidence")] = ()
    """File or folder that is never deleted."""
    max_delete_share: Annotated[
        DeleteShare, Shown("Limits", metavar="SHARE|JOB=SHARE", is_seldom=True)
    ] = _DELETE_SHARE
    """Largest share of a job's files that may be deleted, of those in ``shared/`` and of those in
    all areas (default 0.5); JOB=SHARE for one job.

    In a file a mapping gives it job by job.
    """
    max_deletes: Annotated[
        Annotated[int, Field(ge=0), NO_SWITCH] | None, Shown("Limits", is_seldom=True)
    ] = None
    """Maximum number of objects that one sweep deletes."""
    delete_rate: Annotated[Whole, Shown("Limits", is_seldom=True)] = Field(default=3200, ge=1)
    """Maximum number of keys deleted per second; throttling lowers it.

    The default is S3's 3,500 less what the jobs themselves need.
    """
    inventory: Annotated[Place | None, Shown("Listing", is_seldom=True)] = None
    """S3 Inventory to plan from instead of listing: a ``manifest.json``, or the folder of its
    reports."""
    inventory_max_age: Annotated[Duration, Shown("Listing", is_seldom=True)] = timedelta(hours=72)
    """Maximum age of an inventory.

    A daily one is delivered up to two days after it was begun.
    """
    noncurrent_versions: Annotated[Switch, Shown("Listing", is_seldom=True)] = False
    """Also count noncurrent versions; needs a second listing."""
    abort_uploads: Annotated[Switch, Shown("Limits", is_seldom=True)] = False
    """A sweep with --delete also aborts unfinished uploads that nothing completes any more; nothing
    brings them back."""
    unsafe_acknowledge_root: Annotated[
        tuple[Annotated[str, AfterValidator(_acknowledged)], ...], Shown("Evidence", is_seldom=True)
    ] = ()
    """``URI=SHA256`` of a ``_metadata`` known to be broken.

    It protects what its bytes name.
    """

    @model_validator(mode="after")
    def _check_margins(self) -> Self:
        if self.allow_short_margins or self.allow_short_grace_period:
            return self
        for short, danger in self._short_margins():
            accepts = "allow_short_margins (--allow-short-margins) accepts it"
            raise ValueError(f"{short} is refused: {danger}; {accepts}")
        return self

    def _short_margins(self) -> Iterator[tuple[str, str]]:
        for name, (minimum, danger) in SAFE_MINIMUMS.items():
            if getattr(self, name) < minimum:
                yield f"{name} below {_in_words(minimum)}", danger

    @model_validator(mode="after")
    def _check_state(self) -> Self:
        if (state := self.state_location) is None:
            return self
        if self.location.contains(state):
            inside = f"the state location {self.state} lies inside the storage root"
        elif state.contains(self.location):
            inside = f"the storage root lies inside the state location {self.state}"
        else:
            return self
        raise ValueError(f"{inside}: choose another")

    @model_validator(mode="after")
    def _check_empty_roots(self) -> Self:
        for uri in self.empty_roots:
            if canonical(uri).contains(self.location):
                raise ValueError(f"empty_roots: {uri} holds the storage root, so it is not empty")
        return self

    @model_validator(mode="after")
    def _check_search_except(self) -> Self:
        for uri in self.search_except:
            searched = (*self.own_places, *map(canonical, self.siblings))
            if any(canonical(uri).contains(each) for each in searched):
                raise ValueError(f"search_except: {uri} holds a place that is searched")
        return self

    @model_validator(mode="after")
    def _check_inventory(self) -> Self:
        if self.inventory is None:
            return self
        if {self.location.scheme, canonical(self.inventory).scheme} != {"s3"}:
            raise ValueError("an inventory is of a storage root in S3, and lies in S3")
        return self

    @property
    def location(self) -> Location:
        """Return the place of the storage root; no alias applies to what an operator states."""
        return canonical(self.root)

    @property
    def own_places(self) -> tuple[Location, ...]:
        """Return the places of the storage root and of its extra roots, in this order."""
        return (self.location, *map(canonical, self.extra_roots))

    @property
    def state_location(self) -> Location | None:
        """Return the place of the state, ``None`` if none is stated."""
        return None if self.state is None else canonical(self.state)

    @property
    def plan_life(self) -> timedelta:
        """Return how old a plan may be that is acted upon, or believed.

        A grace period of next to nothing is for trying things out; there an hour is not old.
        """
        return max(self.grace_period, _MINIMAL_PLAN_LIFE)

    @property
    def short_margins_warning(self) -> str | None:
        """Return which accepted margins are below their safe minimums, ``None`` if none is."""
        short = "; ".join(map(": ".join, self._short_margins()))
        return f"allow_short_margins accepts what can delete live files: {short}" if short else None

    @property
    def margins(self) -> SafetyMargins:
        """Return the safety margins as one value: each is the setting of its name."""
        return SafetyMargins(
            **{each.name: getattr(self, each.name) for each in fields(SafetyMargins)}
        )

    @property
    def aliases(self) -> tuple[Alias, ...]:
        """Return the aliases as places."""
        return tuple(parse_alias(text) for text in self.alias)

    @property
    def pins(self) -> tuple[Location, ...]:
        """Return the pinned places: as they are spelled, and as an alias means them."""
        spelled = (canonical(pin, each) for pin in self.pin for each in ((), self.aliases))
        return tuple(dict.fromkeys(spelled))

    @property
    def other_roots(self) -> tuple[Location, ...]:
        """Return the other storage roots that are searched, though no option names them.

        These are those of the configuration file and, where the storage root is itself a job
        directory, the folder around it: jobs beside it may have claimed its checkpoints.
        """
        root = self.location
        around = (root.parent,) if is_job_id(root.name) else ()
        return tuple(dict.fromkeys((*map(canonical, self.siblings), *around)))

    @property
    def acknowledged(self) -> dict[str, str]:
        """Return sha256 by place of each acknowledged broken checkpoint."""
        matches = (_ACKNOWLEDGED.fullmatch(text) for text in self.unsafe_acknowledge_root)
        return {str(canonical(match[1])): match[2] for match in matches if match}

    def is_declared_ended(self, job_id: str, *, by_id: bool = False) -> bool:
        """Return whether the operator said that the job is over.

        Args:
            by_id: Whether ``all`` does not count: it covers the storage root's own jobs, and of
                directories with a trace of Flink.
        """
        return job_id in self.ended_job or (not by_id and "all" in self.ended_job)

    def is_declared_ended_elsewhere(
        self, job_id: str, directories: Collection[Location], *, has_trace: bool
    ) -> bool:
        """Return whether the settings of the storage root that holds a job say that it is over."""
        named = {job_id, "all"} if has_trace else {job_id}
        if any(self.location.contains(each) for each in directories):
            return False
        return any(
            not named.isdisjoint(each.ended_job) and each.is_about(directories)
            for each in self.sibling_statements
        )

    def is_declared_merged_within(self, job_id: str, directories: Collection[Location]) -> bool:
        """Return whether the operator said that the job merges files within checkpoints alone."""
        named = {job_id, "all"}
        return not named.isdisjoint(self.merged_within) or any(
            not named.isdisjoint(each.merged_within) and each.is_about(directories)
            for each in self.sibling_statements
        )

    def is_empty(self, place: Location) -> bool:
        """Return whether the operator stated that exactly this place holds no checkpoint."""
        return any(canonical(uri) == place for uri in self.empty_roots)

    def is_confirmed_empty(self, place: Location) -> bool:
        """Return whether a place without a checkpoint is the one that was meant.

        The operator stated it, or Flink's configuration names it for something else, or in the
        bucket of the storage root.
        """
        if any(canonical(uri) == place for uri in self.without_checkpoints):
            return True
        root = self.location
        is_same_store = (place.scheme, place.authority) == (root.scheme, root.authority)
        is_named = any(canonical(uri) == place for uri in self.named_by_flink)
        return self.is_empty(place) or (is_named and is_same_store and root.scheme != "file")

    def delete_share_of(self, job_id: str) -> float:
        """Return the largest part of one job's files in ``shared/`` that may go."""
        if isinstance(self.max_delete_share, Mapping):
            default = self.max_delete_share.get("default", _DELETE_SHARE)
            return self.max_delete_share.get(job_id, default)
        return self.max_delete_share
