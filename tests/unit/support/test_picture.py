"""The README's picture shows what a plan looks like now."""

import re
from xml.etree import ElementTree as ET

from support.picture import PICTURE, drawn

SIZE_LIMIT = 100_000


def test_the_picture_is_current() -> None:
    """``PYTHONPATH=tests python -m support.picture`` draws it."""
    assert PICTURE.read_text() == drawn()


def test_the_picture_is_small_and_loads_nothing() -> None:
    """A page that shows it asks no other host for a font."""
    text = PICTURE.read_text()
    assert len(text) < SIZE_LIMIT
    assert set(re.findall(r"https?://[^\s\"')]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "https://www.textualize.io",
    }
    assert "url(http" not in text
    words = " ".join(ET.fromstring(text).itertext())
    assert "job_state_unknown" in words
