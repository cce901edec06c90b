"""A person's acknowledgement that one fact of an earlier cycle is over."""

import shlex
from collections.abc import Iterable
from datetime import datetime

from pydantic import Field

from orphangc.core.model.joined_facts import Fact
from orphangc.core.times.instants import Instant


class Acknowledgement(Fact, subject=("condition", "what"), seen="at"):
    """What a person acknowledged.

    Attributes:
        since: Last time at which a cycle had seen it whole; a later loss of the same thing is
            another fact.
    """

    condition: str = Field(min_length=1)
    what: str = Field(min_length=1)
    since: Instant
    at: Instant
    by: str


def is_acknowledged(
    given: Iterable[Acknowledgement], condition: str, what: str, since: datetime
) -> bool:
    """Return whether a person acknowledged exactly this fact, not an earlier one of its kind."""
    return any(
        each.condition == condition and each.what == what and since <= each.since for each in given
    )


def acknowledging_command(root: str, condition: str, what: str, *, state: str | None) -> str:
    """Return the command line by which a person acknowledges one fact, to be copied to a shell.

    Args:
        state: State location; ``None`` for the default one.
    """
    words = ["orphangc", "world", "acknowledge", root, str(condition), what]
    return shlex.join([*words, *(() if state is None else ("--state", state))])
