"""Every tested kind of storage passes what ``doctor --prove`` asks of any other."""

import pytest

from contracts.conftest import ALL
from orphangc.app.commands.examine.prove_storage import prove


@pytest.mark.ci
@pytest.mark.parametrize("place", [each for each in ALL if each != "moto"], indirect=True)
def test_a_tested_kind_of_storage_is_proven(place) -> None:
    """Over a page of objects, each by its own name; nothing but what was there is left."""
    place.put("j/shared/x")
    findings = {each["check"]: each for each in prove(place.uri, None)}
    assert [each for each in findings.values() if each["health"] == "bad"] == []
    assert list(findings)[-1] == "removal"
    assert place.keys() == {"j/shared/x"}


def test_a_versioned_bucket_brings_back_what_was_deleted(s3_place, monkeypatch) -> None:
    """The delete marker is the one of the proof's own deletion."""
    monkeypatch.setattr("orphangc.app.commands.examine.prove_storage._MANY", ("many/1",))
    s3_place.enable_versions()
    findings = {each["check"]: each for each in prove(s3_place.uri, None)}
    wrong = {name: each["message"] for name, each in findings.items() if each["health"] != "good"}
    if s3_place.kind == "radosgw":
        assert "creates a name that exists" in wrong.pop("lock")  # if versioned
    assert wrong == {}
