"""No secret in any log, report, plan, record or state file that the suite writes.

Every process of the suite looks through what its tests left below their temporary folders, when
all of them are over. What a test gives as input (``*.yaml``, the ``credentials`` of AWS' tools) may
hold secrets: that is how they are given.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

S3_KEYS = ("ORPHANGCTESTSACCESSKEY", "orphangc-tests-secret-access-key")
"""Of the servers that take any: nothing but a secret looks like this."""

AZURE_KEY = "b3JwaGFuZ2MtdGVzdHMtYWNjb3VudC1rZXktMDEyMzQ1Njc4OQ=="
"""Of the account that Azurite is given: bytes in Base64."""

SECRETS = (*S3_KEYS, AZURE_KEY, "RGWSECRETKEYRGWSECRETKEY", "hunter2")

_SECRET = re.compile("|".join(map(re.escape, SECRETS)).encode())
_LOOKED_AT = {".html", ".json", ".jsonl", ".log", ".md", ".out", ".partial", ".prom", ".txt", ""}
_GIVEN = "credentials"
_WITH_TEXTS = re.compile(r"outcomes.*\.parquet")
_MOST_BYTES = 8 << 20
_FOUND = "secrets_found"


def secret_in(data: bytes) -> str | None:
    found = _SECRET.search(data)
    return None if found is None else found[0].decode()


def leaks_below(folder: Path) -> Iterator[str]:
    for above, _, names in os.walk(folder):
        for name in names:
            path = Path(above, name)
            secret = secret_in(_content(path))
            if secret is not None:
                yield f"{path}: {secret}"


def _content(path: Path) -> bytes:
    """Return what is looked at of a file: its beginning, or the errors among its rows."""
    try:
        if _WITH_TEXTS.fullmatch(path.name):
            return repr(pq.read_table(path, columns=["error"]).to_pydict()).encode()
        if path.suffix not in _LOOKED_AT or path.name == _GIVEN:
            return b""
        if path.is_symlink() or not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except (
        OSError,
        ValueError,
        KeyError,
        pa.ArrowException,
    ):  # damaged on purpose, or unreadable on purpose
        return b""


class Leaks:
    """Fails a session whose tests left a secret somewhere."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._found: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Look through this process' files; tell the process that has the last word."""
        base = getattr(self._config, "_tmp_path_factory")._basetemp  # noqa: B009 - pytest's own
        if base is not None:
            self._found += leaks_below(base)
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_FOUND] = self._found
        elif self._found:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node) -> None:
        self._found += getattr(node, "workeroutput", {}).get(_FOUND, [])

    def pytest_terminal_summary(self, terminalreporter) -> None:
        """Say where."""
        if self._found:
            terminalreporter.section("secrets in what the suite wrote", red=True, bold=True)
            for each in self._found:
                terminalreporter.line(each)
