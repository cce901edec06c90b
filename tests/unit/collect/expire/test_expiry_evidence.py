"""What names a checkpoint since a cycle, by whatever name of its folder (R18)."""

from types import SimpleNamespace

import pytest

from orphangc.collect.observe.reported import Answers
from orphangc.collect.quarantine.quarantine import ExpiryEvidence
from orphangc.core.model.settings import StorageRootSettings

SETTINGS = StorageRootSettings(root="s3://lake/checkpoints")


@pytest.mark.parametrize(("spelled", "is_named"), [("root", True), ("link", True), ("else", False)])
def test_a_checkpoint_is_named_by_every_name_of_its_folder(tmp_path, spelled, is_named) -> None:
    """A machine may mount one storage twice; a link stands for that here."""
    folder = tmp_path / "root" / "savepoint-1"
    folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "root")
    new = ("http://one:8081 job", str(tmp_path / spelled / folder.name))
    seen = SimpleNamespace(answers=Answers(settings=SETTINGS))
    report = SimpleNamespace(checkpoints=[SimpleNamespace(uri=str(folder))])
    evidence = ExpiryEvidence(
        revalidation=SimpleNamespace(namings=lambda: frozenset({new})),
        found=SimpleNamespace(cycle=SimpleNamespace(seen=seen), report=report),
    )
    assert (str(folder) in evidence.newly_named()) is is_named
