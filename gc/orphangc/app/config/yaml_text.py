"""YAML from a file that somebody wrote: bounded in length, in depth and in what its aliases make.

An alias is a few bytes that stand for a whole value: nine of nine of nine of them, ten levels
deep, are more values than a machine has memory for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from orphangc.errors import SettingsError

_MOST_BYTES = 1 << 20
_MOST_VALUES = 100_000


def read_yaml(path: Path) -> Any:
    """Return the one document of a file.

    Raises:
        SettingsError: In one line, without what stands there, which may be a password: the file
            cannot be read, is too large, or is no YAML.

    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise SettingsError(f"{path} has more than {_MOST_BYTES} bytes")
        return _parsed(data.decode("utf-8"))
    except (OSError, UnicodeDecodeError) as err:
        raise SettingsError(f"cannot read {path}: {err}") from err
    except yaml.YAMLError as err:
        raise SettingsError(f"{path} is no YAML: {_problem(err)}") from err
    except (ValueError, RecursionError) as err:  # a date or a number that is none, or no end of it
        raise SettingsError(f"{path} is no YAML that can be used: {type(err).__name__}") from err


def _parsed(text: str) -> Any:
    loader = yaml.SafeLoader(text)
    try:
        document = loader.get_single_node()
        if document is None:
            return None
        if _values(document, {}) > _MOST_VALUES:
            raise yaml.YAMLError(f"its aliases stand for more than {_MOST_VALUES} values")
        return loader.construct_document(document)
    finally:
        loader.dispose()


def _values(node: yaml.Node, known: dict[yaml.Node, int]) -> int:
    """Return how many values a node is once every alias is spelled out.

    Raises:
        YAMLError: It would never end.

    """
    if node not in known:
        known[node] = -1
        children = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = [
            part for each in children for part in (each if isinstance(each, tuple) else (each,))
        ]
        known[node] = 1 + sum(_values(part, known) for part in parts)
    elif known[node] < 0:
        raise yaml.YAMLError("an alias stands inside of what it names")
    return known[node]


def _problem(err: yaml.YAMLError) -> str:
    """Return what is wrong and where, without the line itself, which may hold a password."""
    if not isinstance(err, yaml.MarkedYAMLError) or err.problem_mark is None:
        return str(err) if type(err) is yaml.YAMLError else type(err).__name__
    mark = err.problem_mark
    return f"{err.problem} at line {mark.line + 1}, column {mark.column + 1}"
