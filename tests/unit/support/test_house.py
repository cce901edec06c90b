"""The package is a house in which a newcomer finds each thing: small folders, clear names."""

from collections import Counter
from pathlib import Path

import pytest

from support.house import (
    MOST_MODULES,
    PACKAGES,
    PAGE,
    SOURCES,
    classes,
    folders,
    modules,
    page_with_arrows,
    page_with_table,
    purpose,
)

pytestmark = pytest.mark.ci

FOLDERS = [each.relative_to(SOURCES).as_posix() for each in folders()]


def test_the_page_shows_every_folder() -> None:
    """``PYTHONPATH=tests python -m support.house`` writes it."""
    assert page_with_table(PAGE.read_text()) == PAGE.read_text()


def test_the_page_draws_the_imports_that_there_are() -> None:
    """``PYTHONPATH=tests python -m support.house`` writes them; no arrow is drawn by hand."""
    assert page_with_arrows(PAGE.read_text()) == PAGE.read_text()


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_is_small_and_says_what_it_is_for(folder: str) -> None:
    """About a dozen modules: a reader takes them in at once."""
    assert len(modules(SOURCES / folder)) <= MOST_MODULES
    assert purpose(SOURCES / folder).endswith(".")


def test_every_module_lies_in_a_package() -> None:
    """A folder without ``__init__.py`` would be in no wheel, no contract and not on the page."""
    known = set(folders())
    assert [each for each in SOURCES.rglob("*.py") if each.parent not in known] == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: each.name)
def test_no_two_modules_of_a_package_have_one_name(package: Path) -> None:
    """A name is enough to find its module."""
    names = Counter(each.name for folder in folders(package) for each in modules(folder))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_two_classes_have_one_name() -> None:
    """A class means one thing, wherever it is named."""
    names = Counter(name for name, _ in classes())
    assert [name for name, count in names.items() if count > 1] == []
