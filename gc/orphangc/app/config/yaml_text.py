"""YAML from an untrusted file: its length, depth and number of values are bounded, and no key of it
is lost.

An alias is a few bytes that stand for a whole value. Nine aliases in each of ten levels are more
values than a machine has memory for. Of a key that stands twice PyYAML keeps the last: places to
search would be left out without a word.

Its comments are the docstrings below the fields of settings, read only for schema and pages:
Pydantic would read the source of each model at every start (``use_attribute_docstrings``).
"""

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from flinkstate.text.problems import NO_VALUE, yaml_problem
from orphangc.errors import SettingsError

_MOST_BYTES = 1 << 20
_MOST_VALUES = 100_000


def read_yaml(path: Path) -> Any:
    """Return the one document of a file.

    Raises:
        SettingsError: The file cannot be read, is too large, or is no YAML. The message is one line
            and quotes nothing of the file, which may hold a password.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise SettingsError(f"{path} has more than {_MOST_BYTES} bytes")
        return _parsed(data.decode("utf-8"))
    except (OSError, UnicodeDecodeError) as err:
        raise SettingsError(f"cannot read {path}: {err}") from err
    except (yaml.YAMLError, *NO_VALUE) as err:
        raise SettingsError(f"{path} is no YAML: {yaml_problem(err)}{_hint(err)}") from err


def _parsed(text: str) -> Any:
    loader = yaml.SafeLoader(text)
    try:
        document = loader.get_single_node()
        if document is None:
            return None
        _check_keys(document, set())
        if _values(document, {}) > _MOST_VALUES:
            raise yaml.YAMLError(f"its aliases stand for more than {_MOST_VALUES} values")
        return loader.construct_document(document)
    finally:
        loader.dispose()


def _check_keys(node: yaml.Node, checked: set[yaml.Node]) -> None:
    if node in checked or not isinstance(node, yaml.CollectionNode):
        return
    checked.add(node)
    seen: set[str] = set()
    for each in node.value:
        if isinstance(node, yaml.MappingNode):
            key = each[0]
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key.value!r} stands a second time", problem_mark=key.start_mark
                )
            seen.add(str(key.value))
        for part in each if isinstance(each, tuple) else (each,):
            _check_keys(part, checked)


def _values(node: yaml.Node, known: dict[yaml.Node, int]) -> int:
    """Return how many values a node is once every alias is spelled out."""
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


def _hint(err: Any) -> str:
    mark = getattr(err, "problem_mark", None)
    is_variable = "${" in (getattr(mark, "buffer", None) or "")
    return '; between braces a variable needs quotes: "${NAME}"' if is_variable else ""


def field_docs(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the docstring of each field, those of base classes too."""
    docs: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each is not BaseModel:
            docs |= dict(_own_docs(each))
    return docs


def _own_docs(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    (defined,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    body = defined.body if isinstance(defined, ast.ClassDef) else []
    for field, following in itertools.pairwise(body):
        match field, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, inspect.cleandoc(text)


def documented_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a model, with the docstrings of all fields as descriptions."""
    schema = model.model_json_schema()
    models = {each.__name__: each for each in _models(BaseModel)}
    for name, part in {**schema.get("$defs", {}), model.__name__: schema}.items():
        docs = field_docs(models[name]) if name in models else {}
        fields = part.get("properties", {})
        for field in fields.keys() & docs.keys():
            fields[field] = dict(sorted({**fields[field], "description": docs[field]}.items()))
    return schema


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in base.__subclasses__():
        yield each
        yield from _models(each)
