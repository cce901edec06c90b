"""Looking again at what exporters wrote: snapshots that are gone prove nothing (R18)."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from orphangc.collect.revalidate.revalidation import RegistryWatch
from orphangc.core.model.codes import Guard
from orphangc.errors import RefusedError
from support.builders import JOB


@dataclass(frozen=True)
class Folder:
    """A registry folder: by job, the snapshots that it lists, each of which is gone when read."""

    listed: Mapping[str, list[str]]

    def jobs(self) -> list[str]:
        return [*self.listed]

    def names(self, job_id: str) -> list[str]:
        return self.listed[job_id]

    def read(self, job_id: str, name: str) -> None:
        assert name in self.listed[job_id]


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ({}, "have gone"),
        ({JOB: []}, "have gone"),
        ({JOB: ["snapshot-1"]}, "vanish before they are read"),
    ],
)
def test_a_job_without_a_snapshot_that_can_be_read_stops(listed, said) -> None:
    watch = RegistryWatch(lambda: [Folder(listed)], epochs={JOB: "epoch-1"}, seen={JOB: set()})
    with pytest.raises(RefusedError, match=said) as refused:
        watch.check()
    assert refused.value.guard is Guard.REGISTRY
