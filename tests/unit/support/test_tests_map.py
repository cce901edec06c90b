"""``tests/README.md`` has a line for each folder of tests, and says what is true of it."""

import ast

import pytest

from support.tests_map import (
    PAGE,
    PURPOSES,
    TESTS,
    classes,
    folders,
    marks,
    page_with_table,
    purpose,
    starts,
)

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


def test_what_a_folder_starts_and_who_runs_it_is_found(tmp_path) -> None:
    """By marks in code, also of the folder above; a text about marks is none."""
    folder = tmp_path / "group" / "one"
    folder.mkdir(parents=True)
    (tmp_path / "group" / "conftest.py").write_text("import pytest\nX = pytest.mark.s3\n")
    test = folder / "test_a.py"
    test.write_text(
        "import pytest\npytestmark = [pytest.mark.nightly]\nTEXT = 'pytest.mark.spark'\n"
    )
    assert list(folders(tmp_path)) == ["group/one"]
    assert starts("group/one", tmp_path) == ["s3"]
    assert classes("group/one", tmp_path) == ["nightly"]
    test.write_text("import pytest\n\n@pytest.mark.ci\ndef test_b(): ...\n")
    assert classes("group/one", tmp_path) == ["command", "ci"]
    assert marks(ast.parse("item.add_marker(mark.flink)")) == {"flink"}
