"""An account that may list but not read: a listing shows the objects, and nothing else counts."""

import pytest

from contracts.servers.stub import BUCKET, Answer, Request, error
from orphangc.adapters.open import open_state_files, open_storage
from orphangc.core.model.types import ObjectKey
from orphangc.errors import StorageUnreachableError

KEY = ObjectKey("shared/file")


def listing_of(*keys: str, count: int | None = None) -> Answer:
    """Return a listing of a few objects of seven bytes."""
    rows = "".join(
        f"<Contents><Key>{key}</Key><Size>7</Size><ETag>&quot;e&quot;</ETag>"
        "<LastModified>2026-01-02T03:04:05.678Z</LastModified></Contents>"
        for key in keys
    )
    number = len(keys) if count is None else count
    return Answer(
        f"<ListBucketResult><Name>{BUCKET}</Name><KeyCount>{number}</KeyCount>"
        f"<IsTruncated>false</IsTruncated>{rows}</ListBucketResult>"
    )


def refusing(listing: Answer):
    """Return what answers reads with a refusal and listings with a page."""

    def answer(request: Request) -> Answer:
        return listing if request.is_listing else error("AccessDenied", 403)

    return answer


def test_the_facts_of_an_object_that_may_not_be_read_come_from_a_listing(stub) -> None:
    """The listing gives the facts of a HEAD request; after the first refusal no HEAD is sent."""
    stub.answer = refusing(listing_of(f"cp/{KEY}"))
    storage = open_storage(f"s3://{BUCKET}/cp")
    for _ in range(3):
        (found,) = storage.stat([KEY])
        assert (found.key, found.size, found.etag) == (KEY, 7, "e")
        assert found.modified_at.isoformat() == "2026-01-02T03:04:05+00:00"
    assert len(stub.asked("HEAD")) == 1
    prefixes = {each.query["prefix"] for each in stub.requests if each.is_listing}
    assert prefixes == {f"cp/{KEY}"}


def test_what_is_refused_and_not_listed_is_absent(stub) -> None:
    """Stores refuse instead of "not found" if the account may list some prefixes only."""
    stub.answer = refusing(listing_of())
    assert open_storage(f"s3://{BUCKET}/cp").stat([KEY]) == [None]
    assert open_storage(f"s3://{BUCKET}/cp").read(KEY, max_bytes=9) is None
    assert open_state_files(f"s3://{BUCKET}/state").read("halted.json") is None


@pytest.mark.parametrize(
    "listing",
    [
        listing_of(f"cp/{KEY}-2"),
        listing_of(count=1),
        Answer("<ListBucketResult/>"),
        error("AccessDenied", 403),
    ],
    ids=["a longer key", "a page without rows", "a page without a count", "refused too"],
)
def test_what_a_listing_does_not_tell_stays_refused(stub, listing: Answer) -> None:
    """Unknown is never absent."""
    stub.answer = refusing(listing)
    with pytest.raises(StorageUnreachableError, match=r"403|AccessDenied"):
        open_storage(f"s3://{BUCKET}/cp").stat([KEY])
    with pytest.raises(StorageUnreachableError):
        open_storage(f"s3://{BUCKET}/cp").read(KEY, max_bytes=9)


def test_what_is_there_and_may_not_be_read_is_an_error(stub) -> None:
    """A root that cannot be read never means that it refers to nothing."""
    stub.answer = refusing(listing_of(f"cp/{KEY}"))
    with pytest.raises(StorageUnreachableError, match="AccessDenied"):
        open_storage(f"s3://{BUCKET}/cp").read(KEY, max_bytes=9)
