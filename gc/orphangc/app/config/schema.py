"""The JSON schema of the configuration file, for editors and CI, and the texts of its settings.

They are the docstrings below the fields of settings, read only for schema and pages: Pydantic would
read the source of each model at every start (``use_attribute_docstrings``).
"""

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from orphangc.app.config.configuration import Configuration, ScheduledRoot
from orphangc.app.config.validate import SINGULAR


def configuration_schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration file, as editors and CI use it."""
    schema = _documented(Configuration)
    fields = schema["$defs"][ScheduledRoot.__name__]["properties"]
    for new, old in SINGULAR.items():
        fields[new] = fields[old]
        fields[old] = {**fields[old], "deprecated": True}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "orphangc configuration",
        **{key: value for key, value in schema.items() if key != "title"},
    }


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


def _documented(model: type[BaseModel]) -> dict[str, Any]:
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
