"""What one resource or configuration file says, each fact with the field that it comes from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from enum import StrEnum

from orphangc.core.model.frozen_part import FrozenPart


class DirectoryUse(StrEnum):
    """What Flink keeps in a directory."""

    CHECKPOINTS = "checkpoints"
    SAVEPOINTS = "savepoints"
    HA = "ha"
    CHANGELOG = "changelog"
    FORST = "forst"
    ARGUMENTS = "arguments"
    """Whatever the job's code keeps there: its name speaks of state."""
    MENTIONED = "mentioned"
    """Whatever the job's code keeps there: nothing says what."""


SEARCHED_USES = frozenset(
    {DirectoryUse.CHECKPOINTS, DirectoryUse.SAVEPOINTS, DirectoryUse.ARGUMENTS}
)
"""Uses of a directory that may hold ``_metadata`` of checkpoints."""


class Origin(FrozenPart):
    """The place of a fact.

    Attributes:
        kind: Kind of the resource; ``File`` for a configuration file, ``Cluster`` for REST.
        namespace: Its namespace, "" outside Kubernetes.
        name: Its name, or the path of the file.
        field: Field or option that states the fact, "" for the whole resource.

    """

    kind: str
    namespace: str
    name: str
    field: str = ""

    def of(self, field: str) -> Origin:
        """Return the place of another field of the same resource."""
        return self.model_copy(update={"field": field})

    def below(self, name: str) -> Origin:
        """Return the place of a field or option below this one."""
        return self.of(f"{self.field}.{name}".lstrip("."))

    @property
    def resource(self) -> str:
        """Return the resource as ``kind/namespace/name``, as statements about it spell it."""
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)

    def __str__(self) -> str:
        """Return the resource and the field, for people."""
        return f"{self.resource} {self.field}".rstrip()


class DirectoryFact(FrozenPart):
    """A directory that Flink's configuration names."""

    uri: str
    use: DirectoryUse
    origin: Origin


class ClusterFact(FrozenPart):
    """A REST service of a Flink cluster; ``is_asked`` is false where nothing answers there."""

    uri: str
    origin: Origin
    is_asked: bool = True


class HaFact(FrozenPart):
    """HA services of a cluster.

    Attributes:
        type: ``kubernetes`` or ``zookeeper``.
        where: Namespace, or ``host:port,host:port/path``.
        cluster_id: Cluster id in it.
        origin: Place of the fact.

    """

    type: str
    where: str
    cluster_id: str
    origin: Origin


class PinFact(FrozenPart):
    """A checkpoint or savepoint that a resource names, so it may be restored again."""

    uri: str
    origin: Origin


class JobFact(FrozenPart):
    """A job id that a resource names.

    Attributes:
        job_id: 32 hexadecimal digits.
        name: Name of the job, "" if unknown.
        state: Flink's word in the resource, "" if unknown.
        is_present: Whether the resource names it now; otherwise it did in an earlier cycle.
        is_fixed: Whether the id was chosen by a person, so that it may come back.
        uid: Kubernetes' identity of the resource, "" if unknown.
        origin: Place of the fact.

    """

    job_id: str
    name: str = ""
    state: str = ""
    is_present: bool = True
    is_fixed: bool = False
    uid: str = ""
    origin: Origin


class UnclearFact(FrozenPart):
    """A part that cannot be understood, and what it could touch.

    Attributes:
        why: Sentence that says what is not understood, and what would lift it.
        reach: Places that it could touch.
        is_everywhere: Whether it could touch any place.
        is_until_remembered: Whether the configuration of its cluster that an earlier cycle read
            is enough: nothing runs that could write elsewhere.
        is_until_read: Whether its source could only not be read: once it can be, that explains it.
            Any other part blocks on after its correction, which does not say where files were.
        source: What must be read for that; "" for the resource itself.
        is_until_asked: Whether its clusters explain it in each cycle in which all their jobs keep
            their checkpoints in memory.
        is_until_shown: Whether the configuration that its cluster shows explains it.
        is_absence: Whether only the absence of a place is not understood, so that the statement
            ``without_state`` explains it.
        is_present: Whether this cycle saw it; otherwise an earlier one did.
        use: What Flink keeps in the directory that is not understood, ``None`` for any other part.
        digest: Digest of the value that is not understood, "" if ``why`` shows all of it.
        origin: Place of the part.

    """

    why: str
    reach: tuple[str, ...] = ()
    is_everywhere: bool = False
    is_until_remembered: bool = False
    is_until_read: bool = False
    source: str = ""
    is_until_asked: bool = False
    is_until_shown: bool = False
    is_absence: bool = False
    is_present: bool = True
    use: DirectoryUse | None = None
    digest: str = ""
    origin: Origin

    @property
    def code(self) -> str:
        """Return what distinguishes it from other parts, and from another value in its place."""
        return digest_of([str(self.origin), self.why, self.digest])

    @property
    def statement(self) -> str:
        """Return the statement of ``explained`` that explains this part and no other one.

        Return "" if none can: what a source says that was not read may change, as long as a
        resource names it.
        """
        is_unread = self.is_until_read and self.is_present and not self.digest
        return "" if is_unread else f"{self.origin.resource}#{self.code}"


def digest_of(value: object) -> str:
    """Return a short digest of a JSON value, "" of none."""
    if value is None:
        return ""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


REST_SOURCE = "REST"
"""The service of a cluster, as a source that explains a part."""

Fact = DirectoryFact | ClusterFact | HaFact | PinFact | JobFact | UnclearFact


class ResourceFacts(FrozenPart):
    """Everything that one resource or file says.

    Attributes:
        origin: The resource.
        uid: Kubernetes' identity of it, "" if unknown.
        directories: Directories of its configuration.
        clusters: REST services.
        ha: HA services.
        pins: Checkpoints and savepoints that it names.
        jobs: Job ids that it names.
        unclear: Parts that cannot be understood.
        is_effective: Whether a configuration of its cluster was read, with the operator's defaults.
        shown: Codes of the parts that its cluster explained, in this cycle or an earlier one.
        read: Sources that this cycle read.
        is_present: Whether it was seen in this cycle; otherwise an earlier one saw it.

    """

    origin: Origin
    uid: str = ""
    directories: tuple[DirectoryFact, ...] = ()
    clusters: tuple[ClusterFact, ...] = ()
    ha: tuple[HaFact, ...] = ()
    pins: tuple[PinFact, ...] = ()
    jobs: tuple[JobFact, ...] = ()
    unclear: tuple[UnclearFact, ...] = ()
    is_effective: bool = False
    shown: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    is_present: bool = True

    def confirmed_by_rest(self) -> ResourceFacts:
        """Return it without the parts that its cluster explained in this cycle."""
        left = tuple(each for each in self.unclear if not each.is_until_asked)
        return self.model_copy(update={"unclear": left, "read": (*self.read, REST_SOURCE)})

    def shown_by_rest(self) -> ResourceFacts:
        """Return it without the parts that the configuration of its cluster explained."""
        left = tuple(each for each in self.unclear if not each.is_until_shown)
        shown = tuple(each for each in self.unclear if each.is_until_shown)
        update = {
            "unclear": left,
            "shown": tuple(each.code for each in shown),
            "read": (*self.read, *(each.source for each in shown)),
        }
        return self.model_copy(update=update)

    def uses(self, use: DirectoryUse) -> tuple[DirectoryFact, ...]:
        """Return its directories of one use."""
        return tuple(each for each in self.directories if each.use is use)

    @property
    def names_checkpoints(self) -> bool:
        """Return whether it names a checkpoint directory, understood or not."""
        unclear = (each.use for each in self.unclear)
        return DirectoryUse.CHECKPOINTS in {*(each.use for each in self.directories), *unclear}


def gathered_facts(
    origin: Origin,
    facts: Iterator[Fact],
    *,
    uid: str = "",
    is_effective: bool = False,
    read: Iterable[str] = (),
) -> ResourceFacts:
    """Return the facts of one resource, each once, in their order."""
    kinds: dict[type, list[Fact]] = {}
    for fact in dict.fromkeys(facts):
        kinds.setdefault(type(fact), []).append(fact)
    return ResourceFacts(
        origin=origin,
        uid=uid,
        directories=tuple(kinds.get(DirectoryFact, ())),  # type: ignore[arg-type]
        clusters=tuple(kinds.get(ClusterFact, ())),  # type: ignore[arg-type]
        ha=tuple(kinds.get(HaFact, ())),  # type: ignore[arg-type]
        pins=tuple(kinds.get(PinFact, ())),  # type: ignore[arg-type]
        jobs=tuple(kinds.get(JobFact, ())),  # type: ignore[arg-type]
        unclear=tuple(kinds.get(UnclearFact, ())),  # type: ignore[arg-type]
        is_effective=is_effective,
        read=tuple(read),
    )


class Discovery(FrozenPart):
    """Everything that was discovered, and everything that earlier cycles discovered.

    Attributes:
        resources: What each resource and file says.
        unclear: Sources that could not be read at all.

    """

    resources: tuple[ResourceFacts, ...] = ()
    unclear: tuple[UnclearFact, ...] = ()

    @property
    def present(self) -> tuple[ResourceFacts, ...]:
        """Return the resources of this cycle."""
        return tuple(each for each in self.resources if each.is_present)
