"""The declarations file: YAML that people write and keep beside their job."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from flinkstate.compatibility.declarations import (
    Declarations,
    DeclaredOperatorState,
    KeyedState,
    OperatorDeclaration,
)
from flinkstate.errors import SettingsError
from flinkstate.text.problems import NO_VALUE, in_one_line, nearest, problems_in, yaml_problem
from flinkstate.text.redaction import reason_of
from flinkstate.text.shown_text import visible

_MAX_BYTES = 4_000_000
"""Maximum size of the file in bytes; no job declares more."""

_ONE_LINE = 2**30
"""Line width in characters, so that no text is folded: PyYAML does not read every folded text back
unchanged.
"""

_INSIDE: Mapping[str, type[BaseModel]] = {
    "operators": OperatorDeclaration,
    "keyed_states": KeyedState,
    "operator_states": DeclaredOperatorState,
}


def read_declarations(path: Path) -> Declarations:
    """Return the checked declarations.

    Raises:
        SettingsError: The file cannot be read, is no YAML, or holds unknown keys (the message
            names the nearest known ones), wrong values, or a key twice. The message is one line.
    """
    content = _parsed(path)
    if not isinstance(content, dict):
        raise SettingsError(f"{path}: a mapping with the keys version and operators is needed")
    problems: list[str] = []
    known = _known(content, Declarations, "", problems)
    try:
        found = Declarations.model_validate(known)
    except ValidationError as err:
        problems += problems_in(err)
        raise SettingsError(f"{path}: {in_one_line(problems)}") from err
    if problems:
        raise SettingsError(f"{path}: {in_one_line(problems)}")
    return found


def declarations_yaml(
    declarations: Declarations,
    *,
    heading: str = "",
    remarks: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return the file's text.

    Args:
        remarks: Comments above operators, by operator id.
    """
    parts = [*_comments([heading] if heading else []), "version: 1\n"]
    parts.append("operators:\n" if declarations.operators else "operators: []\n")
    for operator in declarations.operators:
        parts += _comments((remarks or {}).get(operator.operator_id, ()))
        content = operator.model_dump(mode="json", exclude_defaults=True)
        parts.append(_dumped([content]))
    return "".join(parts)


def _dumped(content: object) -> str:
    text: str = yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_ONE_LINE
    )
    return text


class _Dumper(yaml.SafeDumper):
    """Writes plain YAML; names with invisible characters are quoted and escaped."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        style = None if text.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def _comments(lines: Sequence[str]) -> list[str]:
    return [f"# {visible(line)}\n" for line in lines]


class _Loader(yaml.SafeLoader):
    """Reads plain YAML without aliases, which can make a small file endless, and without duplicate
    keys.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = None if parent is None else parent.start_mark
            raise yaml.constructor.ConstructorError(
                None, None, "an alias, which is not allowed here", mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        seen: set[object] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key {key.value!r} a second time", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _parsed(path: Path) -> object:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise SettingsError(f"{path} has more than {_MAX_BYTES} bytes: no declarations file")
        return yaml.load(data.decode("utf-8"), _Loader)  # noqa: S506 - a safe loader of our own
    except (OSError, UnicodeDecodeError) as err:
        raise SettingsError(f"cannot read {path}: {reason_of(err)}") from err
    except (yaml.YAMLError, *NO_VALUE) as err:
        raise SettingsError(f"{path} is no declarations file: {yaml_problem(err)}") from err


def _known(content: object, model: type[BaseModel], where: str, problems: list[str]) -> object:
    """Return the keys that the models know, after adding a problem for each other one."""
    if not isinstance(content, dict):
        return content  # the model reports what is wrong with it
    found = {}
    for key, value in content.items():
        if key not in model.model_fields:
            problems.append(f"unknown key {where}{key}{nearest(str(key), model.model_fields)}")
        elif key in _INSIDE and isinstance(value, list):
            found[key] = [
                _known(each, _INSIDE[key], f"{where}{key}.{position}.", problems)
                for position, each in enumerate(value)
            ]
        else:
            found[key] = value
    return found
