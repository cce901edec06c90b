"""The one table of a job's folders: each area has a row, and no other module spells a name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from flinkstate.places.checkpoint_names import is_area
from orphangc.core.areas.table import AREAS
from orphangc.core.model.job_folders import FOLDERS, JOB_FOLDERS, NUMBERED_FOLDERS, scopes_where
from orphangc.core.model.naming import place_of_folder
from orphangc.core.model.types import Scope
from support.builders import JOB
from support.house import SOURCES

WITHOUT_A_JOB = {Scope.SAVEPOINT, Scope.OTHER}
EXAMPLES = {**FOLDERS, Scope.EXCLUSIVE: "chk-7", Scope.FORST: "op_a__1_4__attempt_0"}
"""One folder of each row."""
_NAMED = "|".join(re.escape(each) for each in FOLDERS.values())
_BEGUN = "|".join(re.escape(each) for each in NUMBERED_FOLDERS.values())
_SPELLED = re.compile(rf"(?:^|[/|(])(?:(?:{_NAMED})(?:$|[/|)])|(?:{_BEGUN})(?:$|[^\w/]))")
NOT_OF_FOLDERS = {"types.py", "flink_options.py"}
"""Values of enums, and names of Flink's options."""
GRAMMARS = {"job_folders.py", "naming.py"}


def test_each_area_of_a_job_has_a_row() -> None:
    """What has none is known to no scan, no permission and no rule of folders."""
    assert JOB_FOLDERS.keys() == set(Scope) - WITHOUT_A_JOB
    used = {folder.scope for area in AREAS.values() for folder in area.folders}
    assert used - WITHOUT_A_JOB == JOB_FOLDERS.keys()
    assert scopes_where(lambda each: not each.is_entered) <= FOLDERS.keys(), (
        "they are asked for by name"
    )


@pytest.mark.parametrize("scope", JOB_FOLDERS)
def test_a_row_says_where_its_folder_counts(scope: Scope) -> None:
    """Both packages read a key by the same names: orphangc's table is flinkstate's, and more."""
    row, name = JOB_FOLDERS[scope], EXAMPLES[scope]
    assert re.fullmatch(f"{row.name}{row.rest}", name)
    assert is_area(name) is row.counts_anywhere
    below_an_id, elsewhere = place_of_folder(f"{JOB}/{name}"), place_of_folder(f"x/{name}")
    assert (below_an_id.scope, below_an_id.job_id) == (scope, JOB)
    assert (elsewhere.job_directory == "x") is row.counts_anywhere


def _constants(module: Path) -> Iterator[str]:
    """Yield the texts of a module that may be a key or a pattern: prose has spaces."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            yield node.value


def test_no_other_module_spells_the_name_of_a_folder() -> None:
    """A list of names beside the table is one that nobody remembers when a row comes."""
    spelled = {
        f"{module.relative_to(SOURCES)}: {text}"
        for module in (SOURCES / "orphangc").rglob("*.py")
        if module.name not in NOT_OF_FOLDERS | GRAMMARS
        for text in _constants(module)
        if _SPELLED.search(text)
    }
    assert spelled == set()
