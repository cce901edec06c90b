"""Namespaces that show nothing of Flink: a name that is misspelled looks the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from orphangc.core.discovery.discovered_facts import Origin, UnclearFact
from orphangc.core.discovery.sources.read_resources import NamespaceDocuments, shows_flink


def silent_sources(
    shown: Sequence[NamespaceDocuments], selection: str, seen: Collection[str]
) -> Iterator[UnclearFact]:
    """Yield the namespaces, and the selection of namespaces, that show nothing.

    The API server answers with an empty list for a namespace that does not exist. One that showed
    something in an earlier cycle is spelled as it was then, and its resources are remembered.

    Args:
        shown: What each namespace shows.
        selection: Label selector of namespaces, or a word for all of them; "" without one.
        seen: Namespaces of which earlier cycles saw a resource.

    """
    speaking = {each.namespace for each in shown if each.problems or shows_flink(each)}
    for each in shown:
        if not each.is_selected and each.namespace not in {*speaking, *seen}:
            origin = Origin(kind="Namespace", namespace="", name=each.namespace)
            yield _silent(origin, is_operated=each.is_operated)
    named = {each.namespace for each in shown if not each.is_selected}
    if selection and not ({*speaking, *seen} - named):
        yield _silent(Origin(kind="Namespaces", namespace="", name=selection))


def _silent(origin: Origin, *, is_operated: bool = True) -> UnclearFact:
    if is_operated:
        advice = "correct its name (that of the deployments' namespace, not of the operator's)"
    else:
        advice = (
            "this API server does not know the operator's resources (flink.apache.org): correct the"
            " cluster or the name"
        )
    return UnclearFact(
        why=f"shows nothing of Flink: {advice}, or name {origin.resource} in"
        " discovery.without_state if it is to be empty",
        is_everywhere=True,
        is_absence=True,
        origin=origin,
    )
