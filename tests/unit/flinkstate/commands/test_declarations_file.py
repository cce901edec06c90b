"""The declarations file: strict, plain YAML, and what it says comes back as it was."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkstate.commands.declarations_file import declarations_yaml, read_declarations
from flinkstate.compatibility import declarations as declarations_module
from flinkstate.compatibility.declarations import (
    Declarations,
    DeclaredOperatorState,
    KeyedState,
    KeyedStateType,
    OperatorDeclaration,
    RedistributionMode,
    declarations_schema,
)
from orphangc.errors import SettingsError

SCHEMA = Path(declarations_module.__file__).with_name("declarations.schema.json")

EXAMPLE = """\
version: 1
operators:
- uid: ledger
  name: the ledger
  keyed_states:
  - {id: newest, type: value, serializer: StringSerializerSnapshot, queryable_name: newest}
  operator_states:
  - {id: tally, redistribution: split}
- id: 717c7b8afebbfb7137f6f0f99beb2a94
  coordinator: true
  new: true
"""

SPLIT = "{id: x, redistribution: split}"
WRONG = {
    "a key at the top": ("operator: []", "unknown key operator; did you mean operators?"),
    "a key of an operator": (
        "version: 1\noperators: [{uid: a, keyed_state: []}]",
        "unknown key operators.0.keyed_state; did you mean keyed_states?",
    ),
    "a key of a state": (
        "version: 1\noperators: [{uid: a}, {uid: b, operator_states: [{id: x, mode: split}]}]",
        "unknown key operators.1.operator_states.0.mode",
    ),
    "a version": ("version: 2\noperators: []", "version: Input should be 1"),
    "no operators": ("version: 1", "operators: it is missing"),
    "operators of another form": ("version: 1\noperators: a", "operators: a list is needed"),
    "a type": (
        "version: 1\noperators: [{uid: a, keyed_states: [{id: x, type: values}]}]",
        "operators.0.keyed_states.0.type: Input should be 'value'",
    ),
    "a redistribution": (
        "version: 1\noperators: [{uid: a, operator_states: [{id: x, redistribution: even}]}]",
        "redistribution: Input should be 'split'",
    ),
    "no uid and no id": ("version: 1\noperators: [{name: a}]", "needs a uid or an id"),
    "an id": ("version: 1\noperators: [{id: abc}]", "operators.0.id: "),
    "an id that YAML takes for a number": (
        "version: 1\noperators: [{id: 12345678901234567890123456789012}]",
        "operators.0.id: Input should be a valid string",
    ),
    "a uid hash": ("version: 1\noperators: [{uid: a, uid_hash: abc}]", "operators.0.uid_hash: "),
    "a uid hash that is the id of another": (
        "version: 1\noperators: [{uid: a}, {uid: b, uid_hash: 897859f6655555855a890e51483ab5e6}]",
        "have one id, 897859f6655555855a890e51483ab5e6",
    ),
    "an operator twice": (
        "version: 1\noperators: [{uid: a}, {id: 897859f6655555855a890e51483ab5e6}]",
        "have one id, 897859f6655555855a890e51483ab5e6",
    ),
    "a keyed state twice": (
        "version: 1\noperators: [{uid: a, keyed_states: [{id: x, type: map}, {id: x, type: map}]}]",
        "keyed state 'x' is declared twice",
    ),
    "an operator state twice": (
        f"version: 1\noperators: [{{uid: a, operator_states: [{SPLIT}, {SPLIT}]}}]",
        "operator state 'x' is declared twice",
    ),
    "a keyed state without a name": (
        "version: 1\noperators: [{uid: a, keyed_states: [{id: '', type: map}]}]",
        "operators.0.keyed_states.0.id: ",
    ),
    "an operator state without a name": (
        "version: 1\noperators: [{uid: a, operator_states: [{id: '', redistribution: split}]}]",
        "operators.0.operator_states.0.id: ",
    ),
    "timers": (
        "version: 1\noperators: [{uid: a, keyed_states: [{id: _timer_state/e, type: map}]}]",
        "a timer of Flink's own",
    ),
    "a key twice": ("version: 1\nversion: 1", "key 'version' a second time at line 2"),
    "an alias": ("version: 1\noperators: &a [*a]", "an alias, which is not allowed"),
    "no mapping": ("- a", "a mapping with the keys version and operators is needed"),
    "nothing": ("", "a mapping with the keys version and operators is needed"),
    "no YAML": ("version: [1", "is no declarations file: "),
    "a tag": ("!!python/object:os.system {}", "is no declarations file: "),
    "nesting without end": ("- " * 2_000, "is no declarations file: it is nested too deeply"),
    "too much": ("#" * 4_000_001, "has more than 4000000 bytes"),
    "a date of no calendar": (
        "2020-13-45: 1",
        "is no declarations file: a value of it is no number",
    ),
    "a control character": ("version: \0", "file: special characters are not allowed"),
    "a tag that its text does not fit": ("version: !!int ''", "is no declarations file: "),
    "a truth that is none": ("version: !!bool x", "is no declarations file: "),
    "a time that is none": ("version: !!timestamp x", "is no declarations file: "),
}


def test_all_that_is_wrong_is_named_at_once(tmp_path) -> None:
    """Unknown keys and wrong values of every operator."""
    path = tmp_path / "declarations.yaml"
    path.write_text("version: 2\noperator: []\noperators: [{uid: a, keyed_state: []}, {name: b}]")
    with pytest.raises(SettingsError) as caught:
        read_declarations(path)
    for said in (
        "4 problems",
        "operator;",
        "operators.0.keyed_state;",
        "version: ",
        "uid or an id",
    ):
        assert said in str(caught.value)


@pytest.mark.parametrize(("text", "complaint"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_reported_in_one_line(tmp_path, text: str, complaint: str) -> None:
    """With the file, the place in it, and the nearest known word."""
    path = tmp_path / "declarations.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        read_declarations(path)
    message = str(caught.value)
    assert complaint in message
    assert str(path) in message
    assert "\n" not in message


@pytest.mark.parametrize("content", [None, b"\xff"], ids=["absent", "no text"])
def test_what_cannot_be_read_is_reported(tmp_path, content) -> None:
    """Absence is an error: it never means that nothing is declared."""
    path = tmp_path / "declarations.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"cannot read [^ ]+: (No such file|'utf-8')"):
        read_declarations(path)


def test_the_example_says_what_it_says(tmp_path) -> None:
    path = tmp_path / "declarations.yaml"
    path.write_text(EXAMPLE)
    ledger, source = read_declarations(path).operators
    assert ledger.keyed_states[0].type is KeyedStateType.VALUE
    assert ledger.operator_states[0].redistribution is RedistributionMode.SPLIT
    assert (ledger.operator_id, ledger.coordinator) == ("c813a8a9e8f9c0aa40c67f3aee4d5b3c", False)
    assert (source.operator_id, source.label) == (source.id, source.id)


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
STATES = st.builds(
    KeyedState,
    id=TEXTS.filter(lambda text: text and not text.startswith("_timer_state/")),
    type=st.sampled_from(KeyedStateType),
    serializer=st.none() | TEXTS,
    new=st.booleans(),
)
OPERATORS = st.builds(
    OperatorDeclaration,
    uid=TEXTS.filter(bool),
    id=st.none() | st.text("0123456789abcdef", min_size=32, max_size=32),
    keyed_states=st.lists(STATES, max_size=3, unique_by=lambda each: each.id).map(tuple),
    operator_states=st.lists(
        st.builds(
            DeclaredOperatorState,
            id=TEXTS.filter(bool),
            redistribution=st.sampled_from(RedistributionMode),
            new=st.booleans(),
        ),
        max_size=3,
        unique_by=lambda each: each.id,
    ).map(tuple),
    coordinator=st.booleans(),
)


@given(st.lists(OPERATORS, max_size=3, unique_by=lambda each: each.operator_id), TEXTS)
def test_what_is_written_is_read_again(tmp_path_factory, operators, remark: str) -> None:
    """Whatever characters the names and the comments hold."""
    declared = Declarations(version=1, operators=tuple(operators))
    remarks = {each.operator_id: [remark] for each in operators}
    path = tmp_path_factory.getbasetemp() / "declarations-of-a-property.yaml"
    path.write_text(declarations_yaml(declared, heading=remark, remarks=remarks), encoding="utf-8")
    assert read_declarations(path) == declared


def test_the_shipped_schema_is_that_of_the_program() -> None:
    """Written by ``orphangc config schema --of declarations``."""
    assert json.loads(SCHEMA.read_text()) == declarations_schema()


def test_the_schema_accepts_and_refuses_what_the_program_does() -> None:
    """Where a schema can express it."""
    jsonschema = pytest.importorskip("jsonschema", reason="the schema's checker is not installed")
    yaml = pytest.importorskip("yaml")
    checker = jsonschema.Draft202012Validator(declarations_schema())
    assert checker.is_valid(yaml.safe_load(EXAMPLE))
    for kind in ("a key at the top", "a key of a state", "a version", "a type", "an id"):
        assert not checker.is_valid(yaml.safe_load(WRONG[kind][0])), kind
