"""Jobs in whose ``shared/`` the listing shows files of another job's state, by UUID (R12)."""

from random import Random

import pytest

from orphangc.collect.mark import job_dependencies
from orphangc.core.columns import sorted_uuids
from orphangc.core.columns.uuid_set import UuidSet


@pytest.mark.parametrize("most", [1, 7, 1 << 20])
@pytest.mark.parametrize("seed", range(20))
def test_every_job_that_holds_a_file_of_a_state_is_found(seed, most, monkeypatch) -> None:
    """However many are searched at once; a file that was copied is in several."""
    monkeypatch.setattr(job_dependencies, "_MOST_AT_ONCE", most)
    random = Random(seed)
    files = [random.randbytes(16) for _ in range(12)]
    held = {f"holder-{n}": UuidSet(random.sample(files, random.randrange(5))) for n in range(6)}
    names = [UuidSet(random.sample(files, random.randrange(4))) for _ in range(5)]
    states = {
        f"job-{n}": job_dependencies._State(
            folders=set(), uuids=[each.columns(), names[0].columns()], is_origin_unread=False
        )
        for n, each in enumerate(names)
    }
    expected = {
        key: {who for who, its in held.items() if any(its.contains(*e).any() for e in state.uuids)}
        for key, state in states.items()
    }
    assert job_dependencies._holders(states, held) == expected


def test_a_set_that_is_larger_than_what_is_sorted_at_once_is_asked_as_it_is(monkeypatch) -> None:
    """A storage root has a hundred million files: sorting copies took twice the set's memory."""
    sizes, sort = [], sorted_uuids.numbered

    def noted(parts, count):
        sizes.append(sum(len(hi) for _, hi, _ in parts))
        return sort(parts, count)

    monkeypatch.setattr(job_dependencies, "_MOST_AT_ONCE", 3)
    monkeypatch.setattr(sorted_uuids, "numbered", noted)
    files = [bytes([number]) * 16 for number in range(9)]
    held = {"large": UuidSet(files), "small": UuidSet(files[:2]), "other": UuidSet(files[8:])}
    state = job_dependencies._State(
        folders=set(), uuids=[UuidSet(files[8:]).columns()], is_origin_unread=False
    )
    assert job_dependencies._holders({"job": state}, held) == {"job": {"large", "other"}}
    assert sizes == [3]


def test_without_a_job_that_asks_nothing_is_sorted() -> None:
    assert job_dependencies._holders({}, {"holder": UuidSet([b"a" * 16])}) == {}
