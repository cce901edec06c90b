"""What a page of the repository points to is there: a reader follows it and finds something."""

import re

import pytest

from support.pages import TOP, anchor, broken_links, lost_names, lost_paths, pages

pytestmark = pytest.mark.ci

GLOSSARY = TOP / "gc" / "GLOSSARY.md"
PAGES = [each.relative_to(TOP).as_posix() for each in pages()]


@pytest.mark.parametrize("page", PAGES)
def test_every_relative_link_leads_somewhere(page: str) -> None:
    """Headings included, as GitHub names them."""
    assert list(broken_links(TOP / page)) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_is_named_is_there(page: str) -> None:
    """A module or a folder in a code span."""
    assert list(lost_paths(TOP / page)) == []


@pytest.mark.parametrize("page", ["gc/README.md", ".github/CONTRIBUTING.md", "gc/GLOSSARY.md"])
def test_every_name_of_the_code_that_a_recipe_names_is_there(page: str) -> None:
    """A maintainer who looks for one that is gone takes a wrong turn."""
    assert list(lost_names(TOP / page)) == []


def test_a_link_to_nothing_is_found(tmp_path) -> None:
    """To a file, to a heading, and out of the repository."""
    (tmp_path / "gc" / "orphangc").mkdir(parents=True)
    (tmp_path / "there.md").write_text("# One `heading`, with a comma\n")
    page = tmp_path / "gc" / "page.md"
    page.write_text(
        "[a](../there.md) [b](../there.md#one-heading-with-a-comma) [c](https://x.invalid/y)\n"
        "[d](gone.md) [e](../there.md#two) [f](../../etc/passwd) `[g](code.md)`\n"
        "```\n[h](fence.md)\n```\n`orphangc/` `orphangc/gone/` `pytest x/gone.py::test_a` `s3/x/`\n"
        "`pytest tests/gone` `Gone.java`\n"
    )
    assert list(broken_links(page, tmp_path)) == ["gone.md", "../there.md#two", "../../etc/passwd"]
    assert list(lost_paths(page, tmp_path)) == [
        "orphangc/gone/",
        "x/gone.py",
        "tests/gone",
        "Gone.java",
    ]


def test_the_pages_of_this_repository_are_looked_at() -> None:
    """The first one, one below each folder, and none of a virtual environment."""
    assert {"README.md", "gc/README.md", "helm/orphangc/README.md"} <= set(PAGES)
    assert not [each for each in PAGES if ".venv" in each]
    assert anchor("What it never deletes") == "what-it-never-deletes"


def test_the_glossary_is_short_and_each_word_has_its_owner() -> None:
    """At most 25 words; an owner is a module, or a class in one, that is there."""
    rows = re.findall(r"^\| ([a-z ]+) \| .+ \| `(.+?)` \|$", GLOSSARY.read_text(), re.MULTILINE)
    words = [word for word, _ in rows]
    assert words == sorted(set(words))
    assert 0 < len(words) <= 25
    for word, owner in rows:
        path, _, name = owner.partition(":")
        module = TOP / "gc" / "orphangc" / path
        assert module.exists(), word
        assert not name or f"class {name}" in module.read_text(), word
