"""HA metadata as values: which ids were retained all the time, and by whom."""

import pytest

from orphangc.core.cluster.ha_facts import checkpoint_id_of, holders_of, retained_throughout
from support.builders import a_hold


@pytest.mark.parametrize(
    ("digits", "expected"),
    [
        ("0000000000000000042", 42),
        ("0000000000000000000", 0),
        ("9223372036854775807", 2**63 - 1),
        ("42", None),
        ("00000000000000000042", None),
        ("000000000000000004x", None),
        ("\u0660000000000000000042", None),
        ("0000000000000000042\n", None),
        ("", None),
    ],
)
def test_an_id_is_spelled_with_nineteen_digits(digits: str, expected) -> None:
    """``%019d``; whatever else stands there is no id."""
    assert checkpoint_id_of(digits) == expected


def test_what_was_retained_before_and_after_was_retained_all_the_time() -> None:
    """An id that left a completed store never comes back."""
    before, after = a_hold(41, 42), a_hold(42, 43)
    assert retained_throughout([before], [after]) == {42: after.uri}
    assert retained_throughout([], [after]) == {}
    assert retained_throughout([before], []) == {}


def test_a_cluster_that_moved_its_entries_to_a_newer_layout_is_the_same_cluster() -> None:
    """Flink 1.15 renamed the ConfigMap of a job."""
    older = a_hold(7, uri="kubernetes:flink/configmaps/orders-x-jobmanager-leader")
    newer = a_hold(7)
    assert retained_throughout([older], [newer]) == {7: newer.uri}
    assert holders_of([older, newer]) == {newer.cluster}


def test_a_resource_is_no_cluster_of_its_own() -> None:
    """Otherwise each deployment with HA would have two owners."""
    assert holders_of([a_hold(), a_hold(cluster="")]) == {"kubernetes:flink/orders"}
