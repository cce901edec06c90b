"""What one resource or configuration file says, each fact with the field that it comes from."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any

from orphangc.core.model.codes import Condition
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.joined_facts import EITHER, NEWEST_FIRST, Fact


class DirectoryUse(StrEnum):
    """What Flink keeps in a directory."""

    CHECKPOINTS = "checkpoints"
    SAVEPOINTS = "savepoints"
    HA = "ha"
    CHANGELOG = "changelog"
    FORST = "forst"
    UNKNOWN = "unknown"
    """Flink is not known to have the option of state that names it."""


SEARCHED_USES = frozenset({DirectoryUse.CHECKPOINTS, DirectoryUse.SAVEPOINTS, DirectoryUse.UNKNOWN})
"""Uses of a directory that may hold ``_metadata`` of checkpoints."""


CLUSTER = "Cluster"
"""Kind of what REST says; its name is the address."""

MADE = "flink-config-"
"""What the names of the ConfigMaps begin with that the operator makes for its clusters."""


class Origin(FrozenPart):
    """The place of a fact.

    Attributes:
        kind: Kind of the resource; ``File`` for a configuration file, ``Cluster`` for REST.
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

    @property
    def operated(self) -> str:
        """Return the resource, or the deployment for which the operator made it."""
        name = self.name.removeprefix(MADE)
        if self.kind == "ConfigMap" and name != self.name:
            return f"FlinkDeployment/{self.namespace}/{name}"
        return self.resource

    def __str__(self) -> str:
        """Return the resource and the field, for people."""
        return f"{self.resource} {self.field}".rstrip()


class DirectoryFact(Fact, subject=("uri", "use"), seen="is_present"):
    """A directory that Flink's configuration names; ``digest`` is that of the text that does."""

    uri: str
    use: DirectoryUse
    origin: Origin
    digest: str = ""
    is_present: bool = True


class ClusterFact(FrozenPart):
    """A REST service of a Flink cluster; ``is_asked`` is false where nothing answers there."""

    uri: str
    origin: Origin
    is_asked: bool = True


class HaFact(Fact, subject=("type", "where", "cluster_id"), seen="is_present"):
    """HA services of a cluster.

    Attributes:
        where: Namespace, or ``host:port,host:port/path``.
        is_present: Whether this cycle read it; otherwise an earlier one did.
    """

    type: str
    where: str
    cluster_id: str
    origin: Origin
    is_present: bool = True


class PinFact(Fact, subject=("uri",), seen="is_present"):
    """A checkpoint or savepoint that a resource names; ``digest`` is that of the text that does."""

    uri: str
    origin: Origin
    digest: str = ""
    is_present: bool = True


class JobFact(Fact, subject=("job_id",), seen="is_present"):
    """A job id that a resource names.

    Attributes:
        state: Flink's word in the resource, "" if unknown.
        is_present: Whether the resource names it now; otherwise it did in an earlier cycle.
        is_fixed: Whether the id was chosen by a person, so that it may come back.
        uid: Kubernetes' identity of the resource, "" if unknown.
    """

    job_id: str
    name: str = ""
    state: str = ""
    is_present: bool = True
    is_fixed: Annotated[bool, EITHER] = False
    uid: str = ""
    origin: Origin


class UnclearFact(Fact, subject=("what",), seen="is_present"):
    """A part that cannot be read: it may name any place, so it blocks every storage root.

    Attributes:
        why: Sentence that says what cannot be read, and what would lift it.
        is_present: Whether this cycle saw it; otherwise an earlier one did.
        digest: Digest of the value that cannot be read, "" if ``why`` shows all of it.
        uid: Kubernetes' identity of the resource, "" if unknown.
    """

    why: str
    is_present: bool = True
    digest: str = ""
    uid: str = ""
    origin: Origin

    @property
    def what(self) -> str:
        """Return its name: another value has another one, and so has another resource.

        One value of one resource has one name, wherever its spec, its status and the ConfigMap that
        the operator makes for it repeat the value.
        """
        name = self.origin.field.rpartition(".")[2]
        return f"{self.origin.operated}#{digest_of([name, self.why, self.digest, self.uid])}"

    @property
    def word(self) -> str:
        """Return the name by which a person acknowledges it: one that is gone may come back."""
        return self.what if self.is_present else self.word_once_gone

    @property
    def word_once_gone(self) -> str:
        """Return the name by which a person acknowledges it while no cycle sees it."""
        return f"{self.what}-gone"

    @property
    def is_source(self) -> bool:
        """Return whether a whole source could not be read: no word of a person stands for it."""
        kinds = {"Namespace", "Namespaces", "File", CLUSTER, "State"}
        return self.origin.kind in kinds and not self.origin.field

    @property
    def block(self) -> str:
        """Return why it blocks, and the one thing that lifts it."""
        if self.is_source:
            return f"{self.origin}: {self.why}"
        words = ["world", "acknowledge", "--config", "FILE", Condition.DISCOVERY_UNCLEAR, self.word]
        command = f"run: {shlex.join(['orphangc', *words])}"
        if self.is_present:
            return f"{self.origin}: {self.why}; once its files cannot be elsewhere: {command}"
        return f"{self.origin}: an earlier cycle read: {self.why}; if its files are gone: {command}"


def digest_of(value: object) -> str:
    """Return a short digest of a JSON value, "" of none."""
    if value is None:
        return ""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


DiscoveredFact = DirectoryFact | ClusterFact | HaFact | PinFact | JobFact | UnclearFact


class ResourceFacts(Fact, subject=("name", "uid"), seen="is_present"):
    """Everything that one resource or file says.

    Attributes:
        made: ConfigMaps that the operator makes for its clusters, those that it must have.
        is_effective: Whether any cycle did: it has the operator's defaults.
        is_running: Whether a JobManager of it may run.
        session: Deployment whose cluster it runs in, "" for its own.
        is_present: Whether it was seen in this cycle; otherwise an earlier one saw it.
    """

    origin: Origin
    uid: str = ""
    directories: Annotated[tuple[DirectoryFact, ...], NEWEST_FIRST] = ()
    clusters: tuple[ClusterFact, ...] = ()
    ha: Annotated[tuple[HaFact, ...], NEWEST_FIRST] = ()
    pins: Annotated[tuple[PinFact, ...], NEWEST_FIRST] = ()
    jobs: Annotated[tuple[JobFact, ...], NEWEST_FIRST] = ()
    unclear: Annotated[tuple[UnclearFact, ...], NEWEST_FIRST] = ()
    made: tuple[str, ...] = ()
    is_made_read: bool = False
    is_effective: Annotated[bool, EITHER] = False
    is_running: bool = False
    session: str = ""
    is_present: bool = True

    @property
    def name(self) -> str:
        """Return its kind, namespace and name."""
        return self.origin.resource


_FIELDS = {
    "directories": DirectoryFact,
    "clusters": ClusterFact,
    "ha": HaFact,
    "pins": PinFact,
    "jobs": JobFact,
    "unclear": UnclearFact,
}


def gathered_facts(origin: Origin, facts: Iterable[DiscoveredFact], **more: Any) -> ResourceFacts:
    """Return the facts of one resource, each once, in their order, and what else it says."""
    uid = {"uid": more.get("uid", "")}
    known = (e.model_copy(update=uid) if isinstance(e, UnclearFact) else e for e in facts)
    found = tuple(dict.fromkeys(known))
    kinds: dict[str, Any] = {
        name: tuple(each for each in found if isinstance(each, kind))
        for name, kind in _FIELDS.items()
    }
    return ResourceFacts(origin=origin, **kinds, **more)


class Discovery(FrozenPart):
    """Everything that was discovered, and everything that earlier cycles discovered.

    Attributes:
        unnamed: Workloads that look like Flink, and that no configuration names.
    """

    resources: tuple[ResourceFacts, ...] = ()
    unclear: tuple[UnclearFact, ...] = ()
    unnamed: tuple[Origin, ...] = ()

    @property
    def present(self) -> tuple[ResourceFacts, ...]:
        """Return the resources of this cycle."""
        return tuple(each for each in self.resources if each.is_present)
