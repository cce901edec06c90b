"""What the settings of a bucket do to Flink's files."""

from typing import Any

import pytest

from orphangc.core.documents.bucket_settings import (
    BucketSettings,
    dangers,
    effects,
    lock_of,
    rules_of,
)


def found(*rules: dict[str, Any], versioned: bool = False, lock: str | None = None) -> list[str]:
    """Return the dangers of enabled rules for files below ``flink/``."""
    answer = {"Rules": [{"ID": "r", "Status": "Enabled", **each} for each in rules]}
    settings = BucketSettings(rules=rules_of(answer), is_versioned=versioned, lock=lock)
    return [*dangers(settings, "flink/", "Flink's files")]


EXPIRES = {"Expiration": {"Days": 30}}


@pytest.mark.parametrize(
    "where",
    [
        {"Prefix": ""},
        {"Filter": {"Prefix": "flink/"}},
        {"Filter": {"Prefix": "flink/job/shared"}},
        {"Filter": {"And": {"Prefix": "fl", "Tags": [{"Key": "a", "Value": "b"}]}}},
        {},
    ],
)
def test_a_rule_that_expires_keys_of_the_storage_root_is_a_danger(where: dict[str, Any]) -> None:
    """Its prefix may be above or below the root's."""
    (said,) = found({**where, **EXPIRES})
    assert "30 days after they are stored, whether they are needed or not" in said


@pytest.mark.parametrize(
    "rule",
    [
        {"Filter": {"Prefix": "logs/"}, **EXPIRES},
        {"Filter": {"Prefix": "flink-logs/"}, **EXPIRES},
        {"Filter": {"Prefix": ""}, **EXPIRES, "Status": "Disabled"},
        {"Filter": {"Prefix": ""}, "Expiration": {"ExpiredObjectDeleteMarker": True}},
    ],
)
def test_other_rules_are_none(rule: dict[str, Any]) -> None:
    """Another prefix, a rule that is off, one that tidies delete markers."""
    assert found(rule) == []


@pytest.mark.parametrize(
    ("name", "is_danger"), [("GLACIER", True), ("DEEP_ARCHIVE", True), ("GLACIER_IR", False)]
)
def test_a_class_that_cannot_be_read_at_once_is_a_danger(name: str, *, is_danger: bool) -> None:
    """Others may be read, and only cost."""
    rule = {"Filter": {}, "Transitions": [{"Days": 1, "StorageClass": name}]}
    assert bool(found(rule)) is is_danger
    settings = BucketSettings(rules=rules_of({"Rules": [{"Status": "Enabled", **rule}]}))
    assert bool([*effects(settings, "flink/")]) is not is_danger


def test_versions_without_an_end_and_object_lock_cost() -> None:
    """A rule for noncurrent versions is the end of ``undelete``, too."""
    rule = {"Filter": {}, "NoncurrentVersionExpiration": {"NoncurrentDays": 7}}
    assert "paid for ever" in found(versioned=True)[0]
    assert found(rule, versioned=True) == []
    assert "governance, 30 days" in found(rule, versioned=True, lock="governance, 30 days")[0]
    answer = {"Rules": [{"Status": "Enabled", **rule}]}
    settings = BucketSettings(rules=rules_of(answer), is_versioned=True)
    assert [*effects(settings, "flink/")] == [
        "undelete brings back what was deleted up to 7 days ago"
    ]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({}, None),
        ({"ObjectLockConfiguration": {"ObjectLockEnabled": "Enabled"}}, ""),
        (
            {
                "ObjectLockConfiguration": {
                    "ObjectLockEnabled": "Enabled",
                    "Rule": {"DefaultRetention": {"Mode": "COMPLIANCE", "Years": 1}},
                }
            },
            "compliance, 1 years",
        ),
    ],
)
def test_a_lock_is_said_in_words(answer: dict[str, Any], said: str | None) -> None:
    """Without a default retention it binds nothing by itself."""
    assert lock_of(answer) == said
