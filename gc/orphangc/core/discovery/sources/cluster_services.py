"""What a cluster's options say of its services, and what its REST API says of its options."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from orphangc.core.cluster.place_options import (
    CLUSTER_ID_OPTIONS,
    HA_TYPE_OPTIONS,
    NO_HA,
    ZOOKEEPER_ROOT_OPTIONS,
)
from orphangc.core.cluster.zookeeper_paths import zookeeper_address
from orphangc.core.discovery.discovered_facts import DiscoveredFact, HaFact, Origin, UnclearFact
from orphangc.core.discovery.texts.flink_options import (
    ZOOKEEPER_OPTIONS,
    FoundOptions,
    Options,
    Reading,
    all_of,
    option_facts,
    port_of_rest,
    scheme_of_rest,
    text_options,
)

FLINKS_NAMESPACE = "default"
"""Where Flink's Kubernetes client works if no option says where: not in that of its pod.

Source: Flink 1.14-2.3, ``KubernetesConfigOptions.NAMESPACE``, ``FlinkKubeClientFactory``.
"""
_ACCESS_FILE, _CONTEXT = "kubernetes.config.file", "kubernetes.context"
"""Options by which Flink's Kubernetes client finds another API server; the second one means
something where a person's own access file is, and not in a pod, which keeps that of its client."""


def rest_uri(name: str, namespace: str, reading: Reading) -> str:
    """Return the address of a REST service."""
    template = reading.rest if reading.rest != "ingress" else Reading().rest
    return template.format(
        scheme=scheme_of_rest(reading.options),
        name=name,
        namespace=namespace,
        port=port_of_rest(reading.options),
    )


def configured_facts(
    content: Mapping[str, object], origin: Origin, reading: Reading
) -> Iterator[DiscoveredFact]:
    """Yield the facts of the whole configuration of a cluster that no operator made."""
    reading = replace(reading, options=text_options(content))
    yield from option_facts(FoundOptions(content, origin), reading)
    yield from ha_facts(reading.options, origin, "default")


def ha_facts(
    options: Options, origin: Origin, name: str, *, namespace: str = FLINKS_NAMESPACE
) -> Iterator[DiscoveredFact]:
    """Yield all HA services that any source of a configuration names.

    A kind that is not known is not understood.

    Args:
        name: Cluster id, if no option gives one.
        namespace: Namespace of the cluster, if no option gives one.
    """
    where = origin.of("high-availability.type")
    for word in all_of(options, *HA_TYPE_OPTIONS):
        if word.lower() in NO_HA:
            continue
        if word.lower() == "kubernetes" or "KubernetesHaServicesFactory" in word:
            clusters = all_of(options, "kubernetes.cluster-id") or (name,)
            namespaces = all_of(options, "kubernetes.namespace") or (namespace,)
            for place, cluster in product(namespaces, clusters):
                yield HaFact(type="kubernetes", where=place, cluster_id=cluster, origin=where)
            deciding = (_ACCESS_FILE, _CONTEXT) if origin.kind == "File" else (_ACCESS_FILE,)
            if all_of(options, *deciding):
                yield UnclearFact(
                    why="its HA services may be in another Kubernetes cluster"
                    f" ({' or '.join(deciding)}), which is not read: which of its jobs are"
                    " only suspended cannot be seen",
                    origin=where,
                )
        elif word.lower() == "zookeeper":
            yield from _in_zookeeper(options, where, name)
        else:
            yield UnclearFact(
                why=f"{word[:60]!r} is no kind of HA services that is known here: which of its jobs"
                " are only suspended cannot be seen",
                origin=where,
            )


def _in_zookeeper(options: Options, where: Origin, name: str) -> Iterator[HaFact | UnclearFact]:
    clusters = all_of(options, *CLUSTER_ID_OPTIONS) or (name,)
    for place, cluster in product(_zookeepers(options), clusters):
        yield HaFact(type="zookeeper", where=place, cluster_id=cluster, origin=where)
    if not all_of(options, *ZOOKEEPER_OPTIONS):
        yield UnclearFact(
            why=f"{ZOOKEEPER_OPTIONS[0]} is missing: which of its jobs are only suspended cannot be"
            " seen",
            origin=where,
        )


def _zookeepers(options: Options) -> Iterator[str]:
    roots = all_of(options, *ZOOKEEPER_ROOT_OPTIONS) or ("flink",)
    for quorum, root in product(all_of(options, *ZOOKEEPER_OPTIONS), roots):
        address = zookeeper_address(quorum, root)
        yield address if "/" in address else f"{address}/"
