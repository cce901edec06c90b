"""What a storage root is asked for in the tests of policies."""

from typing import Any

from orphangc.core.iam.permissions import StorageNeed, needs_of
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.shown import RunMode

JOB = "0123456789abcdef" * 2
UUID = "00000000-0000-4000-8000-000000000001"


def needs(
    root: str,
    work: str | None = None,
    *,
    mode: str = "delete",
    undelete: bool = False,
    expire: bool = False,
    examine: bool = False,
    **more: Any,
) -> tuple[StorageNeed, ...]:
    """Return what a root needs of which shared files are collected, and named places searched."""
    settings = StorageRootSettings.model_validate(
        {"root": root, "scope": ["shared"], "search": "places", **more}
    )
    return needs_of(
        settings,
        mode=RunMode(mode),
        may_undelete=undelete,
        may_expire=expire,
        may_examine=examine,
        work=work,
    )
