"""A copy of the project that mutmut can work in: it wants the sources below ``src``."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

PROJECT = Path(__file__).parents[3]
MUTATED = ("orphangc/core", "flinkstate/places", "flinkstate/text")
TESTS = (
    "tests/unit/core",
    "tests/unit/flinkstate/places",
    "tests/unit/flinkstate/text",
    "tests/properties",
)
"""What has to kill: tests of the core alone. That a run of the whole command goes wrong somewhere
would kill more mutants, and say less of each."""
BEYOND = {
    "single_flight": (
        "orphangc/collect/revalidate",
        ("tests/unit/collect/revalidate/test_single_flight.py",),
    ),
    "lineages": ("orphangc/app/runner", ("tests/cli/test_expire.py", "tests/cli/test_lineage.py")),
}
"""Modules outside the core that deletions rest on: where each lies, and which tests kill."""

_WHOLE = ("tests", "deploy", "helm", "README.md", "LICENSE", "pyproject.toml")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*_cache", "*.pyc", ".hypothesis", ".cache")

_SETTINGS = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = [{modules}]
also_copy = ["README.md", "LICENSE", "deploy", "helm", "gc"]
pytest_add_cli_args = ["-n0", "-m", "not nightly", "-p", "no:cacheprovider"]
pytest_add_cli_args_test_selection = [{tests}]
type_check_command = [
  "mypy", "-p", "orphangc.core", "-p", "flinkstate.places", "-p", "flinkstate.text",
  "--output", "json", "--disable-error-code", "unused-ignore",
]
use_git_change_detection = false
"""


def modules_of_part(number: int, parts: int) -> list[str]:
    """Return the modules of the core of one part of several, in order; all have a function."""
    found = sorted(each.stem for each in files("*") if "def " in each.read_text(encoding="utf-8"))
    return [each for each in found if each != "__init__"][number::parts]


def lay_out(work: Path, modules: Sequence[str], tests: Sequence[str] = ()) -> None:
    """Copy the project into a folder, or bring an earlier copy up to date.

    Args:
        work: The folder. What mutmut found out earlier stays there, and is used again for
            functions that have not changed.
        modules: Names of modules whose functions are to be mutated, such as
            ``judge`` or ``aws``; none means all.
        tests: Files and folders of tests that are to kill; those of the modules if none is given.

    """
    for name in (*_WHOLE, "src", "gc"):
        _remove(work / name)
    for name in _WHOLE:
        _copy(PROJECT / name, work / name)
    _copy(PROJECT / "gc", work / "src")
    _copy(PROJECT / "gc", work / "gc")  # what tests read beside the code
    files = [_source_of(each) for each in modules]
    settings = _SETTINGS.format(
        modules=_listed(files or [f"src/{each}/*" for each in MUTATED]),
        tests=_listed(tests or tests_of(modules)),
    )
    project = work / "pyproject.toml"
    text = project.read_text(encoding="utf-8").replace('mypy_path = "gc"', 'mypy_path = "src"')
    project.write_text(text + settings, encoding="utf-8")


def tests_of(modules: Sequence[str]) -> list[str]:
    """Return the files and folders of tests that are to kill what is changed in modules."""
    own = [each for module in modules if module in BEYOND for each in BEYOND[module][1]]
    return own if modules and BEYOND.keys() >= {*modules} else [*TESTS, *own]


def _source_of(module: str) -> str:
    """Return the file of a module in the copy; no two modules have one name.

    Raises:
        ValueError: There is no such module.

    """
    found = list(files(module))
    if len(found) != 1:
        raise ValueError(f"no module {module} is mutated")
    return f"src/{found[0].relative_to(PROJECT / 'gc').as_posix()}"


def files(module: str) -> Iterator[Path]:
    """Yield the files of a name, of the core or beyond it; ``*`` for all of the core."""
    folders = [BEYOND[module][0]] if module in BEYOND else MUTATED
    for folder in folders:
        yield from (PROJECT / "gc" / folder).rglob(f"{module}.py")


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=_LEFT_OUT)
    else:
        shutil.copyfile(source, target)
