"""Files of checkpoints, divided into groups in several ways at once."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.collect.expire.held_bytes import NamedFiles


def checkpoint(*numbers: int) -> SimpleNamespace:
    uuids = (np.array(numbers, np.uint64), np.array(numbers, np.uint64))
    return SimpleNamespace(files={"folder": SimpleNamespace(uuids=uuids)})


@given(st.lists(st.tuples(st.sets(st.integers(0, 9)), st.integers(-1, 2), st.integers(0, 1))))
def test_a_file_belongs_to_the_one_group_that_names_it_in_each_division(drawn) -> None:
    """A file that two groups name belongs to none; the UUIDs are found once for all."""
    checkpoints = [checkpoint(*names) for names, _, _ in drawn]
    divisions = [[group for _, group, _ in drawn], [group for _, _, group in drawn]]
    first, second = NamedFiles.divided(checkpoints, divisions)
    for files, groups in ((first, divisions[0]), (second, divisions[1])):
        for number, group in zip(files.uuids.hi.tolist(), files.group.tolist(), strict=True):
            named = {g for (names, _, _), g in zip(drawn, groups, strict=True) if number in names}
            assert group == (named.pop() if len(named) == 1 else -1)
    assert len(first.uuids) == len({each for names, _, _ in drawn for each in names})
    assert first.uuids is second.uuids or not len(first.uuids)


@pytest.mark.parametrize("count", [1, 128, 129, 40_000])
def test_a_group_takes_no_more_bytes_than_its_number_needs(count: int) -> None:
    """A file has six groups; the last group, and no group, are told apart from all others."""
    files = NamedFiles.of((checkpoint(number), number) for number in range(count))
    assert files.group.tolist() == list(range(count))
    assert files.group.itemsize == (1 if count <= 128 else 2 if count <= 2**15 else 4)
    assert files.without([checkpoint(0)]).group.tolist() == [-1, *range(1, count)]
    assert NamedFiles.of([(checkpoint(7), -1)]).group.tolist() == [-1]
