"""Reads the annotations of classes: forward references, type variables, names of types."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, TypeVar, get_args, get_origin, get_type_hints


def resolved(owner: type, annotation: Any) -> Any:
    """Return an annotation of a class with its forward references resolved.

    Only this annotation is evaluated: other fields may name what only a type checker imports.

    Raises:
        NameError: The annotation names something undefined.
        AttributeError: A module lacks what the annotation names in it.
        TypeError: The annotation is no type.
        SyntaxError: The annotation is no Python.
    """
    holder = SimpleNamespace(__annotations__={"it": annotation})
    module = vars(sys.modules[owner.__module__]) if owner.__module__ in sys.modules else {}
    names = {**vars(owner), owner.__name__: owner}
    return get_type_hints(holder, dict(module), names, include_extras=True)["it"]


def bound(annotation: Any, owner: type, cls: type) -> Any:
    """Return an annotation of a base class, its type variables replaced by a subclass's types.

    Raises:
        NameError: A type that a subclass names is undefined; other errors as in ``resolved``.
    """
    return _substituted(annotation, _type_arguments(cls).get(owner, {}))


def is_open(annotation: Any) -> bool:
    """Return whether a type argument of an annotation is still a type variable."""
    return bool(get_args(annotation)) and bool(getattr(annotation, "__parameters__", ()))


def text_of(annotation: Any) -> str:
    """Return a type as it is written in source code."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__qualname__
    return str(annotation).replace("typing.", "")


def _type_arguments(cls: type) -> dict[type, Mapping[Any, Any]]:
    """Return the types that a class substitutes for the type variables of each base class."""
    arguments: dict[type, Mapping[Any, Any]] = {}
    for each in cls.__mro__:
        given = arguments.get(each, {})
        for base in vars(each).get("__orig_bases__", ()):
            origin = get_origin(base)
            if isinstance(origin, type):
                types = [
                    _substituted(resolved(each, argument), given) for argument in get_args(base)
                ]
                variables = getattr(origin, "__parameters__", ())
                arguments.setdefault(origin, dict(zip(variables, types, strict=False)))
    return arguments


def _substituted(annotation: Any, given: Mapping[Any, Any]) -> Any:
    if isinstance(annotation, TypeVar):
        return given.get(annotation, annotation)
    if isinstance(annotation, type) or not (variables := getattr(annotation, "__parameters__", ())):
        return annotation
    return annotation[tuple(given.get(each, each) for each in variables)]
