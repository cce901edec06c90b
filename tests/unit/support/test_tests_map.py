"""``tests/README.md`` has a line for each folder of tests, and says what is true of it."""

import pytest

from support.tests_map import PAGE, PURPOSES, TESTS, folders, page_with_table, purpose

pytestmark = pytest.mark.ci

FOLDERS = list(folders())


def test_the_page_has_the_map_as_it_is() -> None:
    """``PYTHONPATH=tests python -m support.tests_map`` writes it: a line a folder, and no more."""
    assert page_with_table(PAGE.read_text()) == PAGE.read_text()


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_folder_says_what_it_holds(folder: str) -> None:
    """In its docstring, its README, or in the words of the map, and in one place only."""
    assert purpose(folder).endswith(".")
    assert (folder in PURPOSES) == (purpose(folder) == PURPOSES.get(folder))


def test_every_test_is_in_a_folder_of_the_map() -> None:
    """And no words are about a folder that is gone."""
    files = [each.relative_to(TESTS) for each in TESTS.rglob("test_*.py")]
    known = {*FOLDERS}
    lost = [each for each in files if not known & {str(above) for above in each.parents}]
    assert lost == []
    assert PURPOSES.keys() <= known
