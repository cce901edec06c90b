"""What a search with fresh seeds found: filed by ``.ci/nightly``, replayed by every check.

One file below ``tests/robustness/found`` for each. The input of a fuzz target is filed by itself
and stays. The example of a property is filed as Hypothesis' own blob, which only the locked release
reads and a change of the property makes useless: whoever mends the fault writes it as ``@example``
of the property, and removes the file.
"""

import base64
import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import __version__ as installed
from hypothesis import given, reproduce_failure
from hypothesis.errors import DidNotReproduce

FOLDER = Path(__file__).parents[1] / "robustness" / "found"
_TESTS = Path(__file__).parents[1]

_BLOB = re.compile(r"@reproduce_failure\('(?P<version>[^']+)', b'(?P<blob>[^']+)'\)")
_MARGIN = re.compile(r"^E {0,7}", re.MULTILINE)
_EXAMPLE = re.compile(r"(?:Failing test case|Falsifying example): .*?(?=\n\S|\Z)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class FoundInput:
    """An input that a fuzz target did not stand."""

    target: str  # its name
    value: Any  # bytes, or a JSON value

    def file(self, folder: Path = FOLDER) -> Path:
        is_bytes = isinstance(self.value, bytes)
        packed = base64.b64encode(self.value).decode() if is_bytes else self.value
        return _filed(
            folder,
            re.sub(r"\W+", "-", self.target),
            {"target": self.target, "base64" if is_bytes else "json": packed},
        )


@dataclass(frozen=True, kw_only=True)
class FoundExample:
    """An example for which a property does not hold."""

    test: str  # file below ``tests``, ``::`` and name
    version: str  # of Hypothesis
    blob: str  # Hypothesis' own words for it; empty if it gave none
    text: str  # the falsifying example, to be written as ``@example``

    def file(self, folder: Path = FOLDER) -> Path:
        return _filed(folder, self.test.rpartition("::")[2], asdict(self))

    def replay(self, fixture: Callable[[str], Any]) -> None:
        """Give the property its example again.

        Args:
            fixture: Returns the value of a fixture by its name.

        Raises:
            AssertionError: It cannot be replayed here: it has to be written as ``@example``.

        """
        file, _, name = self.test.partition("::")
        module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
        test = getattr(module, name, None)
        handle = getattr(test, "hypothesis", None)
        assert handle is not None and self.blob and self.version == installed, (  # noqa: PT018
            f"{self.test} cannot be given this example by Hypothesis {installed}:"
            f" write it as @example, or as a test of its own, and remove the file.\n{self.text}"
        )
        again = given(**handle._given_kwargs)(handle.inner_test)
        values = {each: fixture(each) for each in inspect.signature(again).parameters}
        try:
            reproduce_failure(self.version, self.blob.encode())(again)(**values)
        except DidNotReproduce:
            return


def _filed(folder: Path, name: str, content: dict[str, Any]) -> Path:
    text = json.dumps(content, indent=1) + "\n"
    path = folder / f"{name}-{sha256(text.encode()).hexdigest()[:12]}.json"
    folder.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def read(path: Path) -> FoundInput | FoundExample:
    content = json.loads(path.read_text())
    if "target" not in content:
        return FoundExample(**content)
    packed = content.get("base64")
    value = content["json"] if packed is None else base64.b64decode(packed)
    return FoundInput(target=content["target"], value=value)


def example_of(nodeid: str, report: str) -> FoundExample | None:
    """Return what the report of a failed test says that Hypothesis found, ``None`` if nothing."""
    report = _MARGIN.sub("", report)
    told = _EXAMPLE.search(report)
    if told is None:
        return None
    blob = _BLOB.search(report)
    return FoundExample(
        test=nodeid.removeprefix("tests/"),
        version=blob["version"] if blob else installed,
        blob=blob["blob"] if blob else "",
        text=told[0][:4000],
    )


class Filing:
    """Files what a search finds, and says where."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        report = yield
        if report.when == "call" and report.failed and "tests/robustness/fuzz" not in item.nodeid:
            found = example_of(item.nodeid, report.longreprtext)
            if found is not None:
                report.sections.append(("filed", str(found.file(self._folder))))
        return report
