"""One browser for all tests of the folder that a process runs."""

from collections.abc import Iterator

import pytest

from integration.harness.chromium import Browser, require_chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    require_chromium()
    chromium = Browser(tmp_path_factory.mktemp("chromium"))
    yield chromium
    chromium.close()
