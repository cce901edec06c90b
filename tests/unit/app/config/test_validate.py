"""Places of the command line: which options are some, their types say."""

from pathlib import Path

import pytest

from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.config.validate import policy_from, settings_from, validated


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which a command is called."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_relative_path_of_an_option_is_one_from_here(here: Path) -> None:
    """Alone, in a list, and on both sides of an alias; a URI stays as it is."""
    found = settings_from(
        {"root": "r", "state": "s", "pin": ["p", "s3://b/p"], "alias": ["a=b"], "owner": None}
    )
    assert (found.root, found.state) == (f"{here}/r", f"{here}/s")
    assert found.pin == (f"{here}/p", "s3://b/p")
    assert found.alias == (f"{here}/a={here}/b",)


def test_so_is_one_of_a_file_and_of_a_retention_policy(here: Path) -> None:
    """A savepoint folder is named as the extra root around it is."""
    assert validated(ScheduledRoot, {"root": "r", "work": "w"}).work == f"{here}/w"
    policy = policy_from({"savepoints": ["extra"], "keep_last": None})
    assert policy is not None
    assert policy.savepoints == (f"{here}/extra",)


def test_a_policy_of_which_nothing_is_said_is_none() -> None:
    """Its options are absent."""
    assert policy_from({"savepoints": None, "keep_last": None}) is None
