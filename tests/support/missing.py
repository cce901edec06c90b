"""What a test needs and this machine lacks: it is skipped, or fails where that is asked for."""

import os
from typing import NoReturn

import pytest


def give_up(resource: str, reason: object) -> NoReturn:
    if resource in os.environ.get("ORPHANGC_REQUIRE", "").split(","):
        pytest.fail(f"ORPHANGC_REQUIRE asks for {resource}: {reason}", pytrace=False)
    pytest.skip(f"no {resource}: {reason}")
