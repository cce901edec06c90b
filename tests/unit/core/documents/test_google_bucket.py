"""What the settings of a bucket of Google's do to Flink's files."""

from typing import Any

import pytest

from orphangc.core.documents.bucket_settings import dangers, effects, google_settings


def rule(kind: str, action: dict[str, Any] | None = None, **condition: Any) -> dict[str, Any]:
    return {"action": {"type": kind, **(action or {})}, "condition": condition}


def said(*rules: dict[str, Any], **more: Any) -> tuple[list[str], list[str]]:
    found = google_settings({"lifecycle": {"rule": [*rules]}, **more})
    return [*dangers(found, "flink/", "Flink's files")], [*effects(found, "flink/")]


@pytest.mark.parametrize(
    "condition",
    [
        {"age": 30},
        {"age": 30, "isLive": True},
        {"age": 30, "matchesPrefix": ["logs/", "flink/job"]},
        {"age": 30, "matchesSuffix": [".sst"]},
    ],
)
def test_a_rule_that_deletes_current_objects_is_a_danger(condition: dict[str, Any]) -> None:
    """One of its prefixes is enough; a suffix is of certain objects."""
    (found,), _ = said(rule("Delete", **condition))
    assert "30 days after they are stored, whether they are needed or not" in found
    assert ("certain tags" in found) is ("matchesSuffix" in condition)


@pytest.mark.parametrize(
    "condition",
    [
        {"age": 30, "matchesPrefix": ["logs/"]},
        {"age": 30, "isLive": False},
        {"daysSinceNoncurrentTime": 30},
        {"numNewerVersions": 3},
    ],
)
def test_other_rules_are_none(condition: dict[str, Any]) -> None:
    """Another prefix, and those that delete noncurrent generations only."""
    assert said(rule("Delete", **condition))[0] == []


def test_versions_end_and_classes_cost() -> None:
    """Every class of Google's is read at once."""
    versioned = {"versioning": {"enabled": True}}
    assert "paid for ever" in said(**versioned)[0][0]
    rules = [
        rule("Delete", daysSinceNoncurrentTime=7),
        rule("AbortIncompleteMultipartUpload", age=1),
    ]
    rules.append(rule("SetStorageClass", {"storageClass": "ARCHIVE"}, age=9))
    assert said(*rules, **versioned) == (
        [],
        [
            "undelete brings back what was deleted up to 7 days ago",
            "unfinished uploads are aborted after 1 days",
            "objects move to ARCHIVE, where an early deletion may be charged",
        ],
    )


def test_retention_and_holds_refuse_deletions() -> None:
    """A deletion fails, and so does a write of the state."""
    policy = {"retentionPolicy": {"retentionPeriod": str(30 * 86400)}}
    found, _ = said(**policy, defaultEventBasedHold=True)
    assert "a retention policy of 30 days for each object" in found[0]
    assert "an event-based hold" in found[1]


@pytest.mark.parametrize(
    "damaged",
    [
        {"lifecycle": []},
        {"lifecycle": {"rule": [{}]}},
        {"retentionPolicy": {"retentionPeriod": "long"}},
        {"softDeletePolicy": "off"},
    ],
)
def test_damaged_settings_are_an_error(damaged: dict[str, Any]) -> None:
    """Never a bucket without rules."""
    with pytest.raises(ValueError, match=r"damaged|invalid literal"):
        google_settings(damaged)
