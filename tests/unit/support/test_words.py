"""The package speaks the field's words and plain English; what is left of others only becomes less.

``PYTHONPATH=tests python -m support.words`` lists what is left.
"""

import pytest

from support.house import SOURCES, folders
from support.words import CONTRACT, MOST, ROOT, Found, words_in, words_in_page, words_of

pytestmark = pytest.mark.ci

FOLDERS = [each.relative_to(SOURCES).as_posix() for each in folders()]
CLEAN_TESTS = ("cli", "unit/app")
PAGES = (
    *("gc/README.md", "gc/SAFETY.md", "gc/decisions/*.md"),
    *("deploy/monitoring/*.md", "helm/orphangc/README.md"),
)


@pytest.fixture(scope="module")
def left() -> list[Found]:
    return words_of()


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_holds_no_more_such_words_than_before(folder: str, left: list[Found]) -> None:
    """A new word is not taken in; once a folder is clean, it stays so."""
    found = [each for each in left if each.folder == folder]
    shown = "\n".join(f"{each.file}:{each.line}: {each.word}: {each.text}" for each in found)
    assert len(found) <= MOST.get(folder, 0), (
        f"{folder} may hold {MOST.get(folder, 0)} such words (tests/support/words.py says which,"
        f" house words and plain English):\n{shown}"
    )


def test_every_maximum_is_of_a_folder() -> None:
    """A folder that moved takes its maximum along."""
    assert set(MOST) - set(FOLDERS) == set()


def test_every_exception_has_its_reason() -> None:
    assert all(reason.endswith(".") for reason in CONTRACT.values())


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('"""Nobody asks."""', ["nobody"]),
        ("x = 1  # whoever reads it", ["whoever"]),
        ('class A:\n    x: int\n    """What it tells."""', ["tells"]),
        ("class Asking:\n    told: int", ["asking", "told"]),
        ("def look_again():\n    pass", ["look"]),
        ("from a import b as claiming", ["claiming"]),
        ('option(help="As told.")', ["told"]),
        ('option(help="As" " told.")', ["told"]),
        ('log.info("told somebody")', []),  # a value, which may be contract
        ("teller = tolder = 1", []),
        ('"""Lays a tombstone where files lie."""', []),
    ],
)
def test_a_word_is_found_where_people_read_it(source: str, words: list[str]) -> None:
    assert [each.word for each in words_in(source, "app/x.py")] == words


def test_the_name_of_a_module_counts() -> None:
    assert [each.word for each in words_in("", "app/given.py")] == ["given"]


@pytest.mark.parametrize("folder", CLEAN_TESTS)
def test_tests_of_the_program_hold_no_such_word(folder: str) -> None:
    """Names of tests are sentences too."""
    assert words_of(ROOT / "tests" / folder) == []


@pytest.mark.parametrize("pattern", PAGES)
def test_a_page_holds_no_such_word(pattern: str) -> None:
    """Code and quotations apart."""
    pages = sorted(ROOT.glob(pattern))
    assert pages
    assert {each.name: found for each in pages if (found := words_in_page(each.read_text()))} == {}


def test_code_and_quotations_in_a_page_do_not_count() -> None:
    assert words_in_page('Nobody says "void" of `told`.') == ["Nobody says of ."]
