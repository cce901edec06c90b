"""What a part that is not understood blocks, and the words that it is shown with."""

import pytest

from orphangc.core.discovery.discovered_facts import (
    DirectoryFact,
    DirectoryUse,
    Discovery,
    Origin,
    PinFact,
    ResourceFacts,
    UnclearFact,
)
from orphangc.core.discovery.discovered_world import places_of, world_of_discovery
from support.builders import JOB

ORDERS = Origin(kind="FlinkDeployment", namespace="flink", name="orders")


def an_unclear_part(**changes) -> UnclearFact:
    values = {"why": "x", "reach": ("s3://x/y",), "origin": ORDERS.of("spec")}
    return UnclearFact(**(values | changes))


def a_resource(*unclear: UnclearFact) -> ResourceFacts:
    """Return one that names every kind of place."""
    uses = {"s3://a/c": DirectoryUse.CHECKPOINTS, "s3://h/ha": DirectoryUse.HA}
    pins = (f"s3://b/root/{JOB}/chk-7", "s3://c/saved/savepoint-1", "s3://a/c/savepoint-2")
    return ResourceFacts(
        origin=ORDERS,
        directories=tuple(DirectoryFact(uri=u, use=k, origin=ORDERS) for u, k in uses.items()),
        pins=tuple(PinFact(uri=each, origin=ORDERS) for each in pins),
        unclear=unclear,
    )


PLACES = ("s3://a/c", "s3://b/root", "s3://c/saved")


def part_of(unclear: UnclearFact):
    (shown,) = world_of_discovery(Discovery(resources=(a_resource(unclear),))).unclear
    return shown


def test_a_resource_names_the_storage_root_of_each_checkpoint_that_it_pins() -> None:
    """Of a savepoint the folder around it, of a checkpoint that of all its root's jobs."""
    assert places_of(a_resource()) == PLACES


def test_a_part_reaches_every_place_of_its_resource_and_one_without_bounds_none_by_name() -> None:
    """Its job may have been restored from there; one that could touch any place names none."""
    bound, wide = part_of(an_unclear_part()), part_of(an_unclear_part(is_everywhere=True))
    assert (bound.reach, bound.is_everywhere) == (("s3://x/y", *PLACES), False)
    assert (wide.reach, wide.is_everywhere) == ((), True)


@pytest.mark.parametrize(
    ("changes", "earlier", "has_statement"),
    [
        ({}, "", True),
        ({"is_present": False}, "an earlier cycle read: ", True),
        ({"is_until_read": True}, "", False),
    ],
)
def test_a_part_is_shown_with_its_place_its_time_and_the_statement_that_lifts_it(
    changes, earlier, has_statement
) -> None:
    """A source that was not read has no such statement."""
    unclear = an_unclear_part(**changes)
    statement = f" ({unclear.statement})" if has_statement else ""
    assert part_of(unclear).why == f"FlinkDeployment/flink/orders spec: {earlier}x{statement}"
