"""The README's picture of the status page can be taken again, from the page as it is now."""

import pytest

from integration.browser.status_picture import HEIGHT, PICTURE, WIDTH, taken
from integration.browser.test_page import pixels

pytestmark = pytest.mark.chromium

SIZE_LIMIT = 200_000


def test_the_picture_is_taken_from_the_page(browser) -> None:
    """Fonts differ among machines, so pixels are not compared; size and colours are."""
    now = taken(browser)
    for picture in (now, PICTURE.read_bytes()):
        width, height, rows = pixels(picture)
        assert (width, height) == (WIDTH, HEIGHT)
        assert len(rows) > HEIGHT // 4, "a page with nothing on it"
    assert PICTURE.stat().st_size < SIZE_LIMIT
