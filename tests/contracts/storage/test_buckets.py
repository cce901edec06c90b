"""Buckets beside the searched one: what ``world`` shows of an account."""

import pytest

from contracts.conftest import CLOUDS, make_place, reach
from contracts.servers.gcs import as_json, gcs_server, refusal
from orphangc.adapters.open import open_storage
from orphangc.core.model.types import ObjectKey
from orphangc.errors import NotReportedError, StorageUnreachableError


@pytest.fixture(params=["moto", *CLOUDS])
def places(request, monkeypatch, tmp_path):
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "tests")
    server = reach(request.param, request, monkeypatch)
    return [make_place(request.param, tmp_path, server) for _ in range(3)]


def test_all_buckets_of_the_account_are_named(places) -> None:
    """As URIs that can be searched."""
    found = open_storage(places[0].uri).buckets()
    assert {each.uri.removesuffix("/cp") for each in places} <= {*found}
    assert list(found) == sorted(found)
    places[-1].put("x")
    beside = open_storage(next(each for each in found if places[-1].uri.startswith(each)))
    assert beside.read(ObjectKey("cp/x"), max_bytes=9) == b"bytes"


def test_a_folder_has_no_buckets_beside(local_place) -> None:
    assert open_storage(local_place.uri).buckets() is None


@pytest.mark.parametrize(("status", "raised"), [(403, NotReportedError), (400, None)])
def test_what_google_refuses_is_said(monkeypatch, status, raised) -> None:
    """A right that is missing is not an empty account."""
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "tests")
    with gcs_server() as server:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        server.fault = lambda _: refusal(status, "no")
        with pytest.raises(raised or StorageUnreachableError):
            open_storage("gs://bucket/cp").buckets()


def test_a_list_of_googles_without_an_end_is_no_answer(monkeypatch) -> None:
    """An answer that is followed by itself would be asked for without end."""
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "tests")
    answers = iter([{"items": [{"name": "one"}], "nextPageToken": "x"}] * 8)
    with gcs_server() as server:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        server.fault = lambda _: as_json(next(answers))
        with pytest.raises(StorageUnreachableError, match="followed by itself"):
            open_storage("gs://bucket/cp").buckets()
