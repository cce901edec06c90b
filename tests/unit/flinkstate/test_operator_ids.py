"""An operator's id is what Flink's hash makes of its uid."""

import pytest

from flinkstate.metadata.reader import read_metadata
from flinkstate.operator_ids import operator_id
from unit.flinkstate.metadata.golden_files import golden_files

TEXT = "uid-of-an-operator-of-some-length-é-😀-x"
KNOWN = {  # what the hash function in Flink 1.20.5 gives for so many characters of the text
    0: "00000000000000000000000000000000",
    3: "0e1febe90327d1cea326114660ec1de8",
    6: "df7e55b7f49ff493174dbc6b7aabaa2f",
    9: "b1aff992eb3ee4fa567f1dd760c774fb",
    12: "52ce2ae9b537f17377f1179afb1c4eb5",
    15: "fc95a3fce287643dd090362d79cac0cd",
    18: "3faea4108e490781752161e8f98cb2a7",
    21: "a53b17ad88ff2637af2dbac41d95eff8",
    24: "e7ff48761bee70404ce69467801836e3",
    27: "bebffe9d868061e8e23341fd3ee002e3",
    30: "163c4b70b909bf4d6fac1e2f5f609ab7",
    33: "5733e39b349f9fa7729565d19be01b8a",
    36: "58ea21f595d32f50958ed1a5bbe03229",
    38: "dd15ff4cf8e5983c0c069d2c48167c56",
}


@pytest.mark.parametrize(("length", "expected"), KNOWN.items())
def test_any_length_hashes_as_in_flink(length: int, expected: str) -> None:
    """No block, a rest, whole blocks, several with a rest; beyond ASCII too."""
    assert operator_id(TEXT[:length]) == expected


def test_ids_of_real_jobs_are_hashes_of_their_uids() -> None:
    """Flink writes both from format version 5 on."""
    real = [
        operator
        for file in golden_files()
        if file.name.startswith("real/")
        for operator in read_metadata(file.data).operators
    ]
    hashed = {operator_id(each.uid): each.uid for each in real if each.uid is not None}
    assert {each.id for each in real if each.uid is not None} == set(hashed)
    older = {each.id for each in real if each.uid is None}
    assert older & set(hashed), "jobs of older releases carry ids alone, of the same uids"


def test_half_a_character_hashes_as_java_spells_it() -> None:
    """Java's UTF-8 has a question mark for it."""
    assert operator_id("a\ud800") == operator_id("a?")
