"""State that a class declares on its fields, by markers and annotations."""

import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import SimpleNamespace
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from flinkstate.compatibility.declarations import RedistributionMode
from flinkstate.declarations.declaration_errors import DeclarationError, StateConflictError
from flinkstate.declarations.descriptors import (
    KeyedStateDescriptor,
    OperatorStateDescriptor,
    StateDescriptor,
)
from flinkstate.declarations.states import KEYED, OPERATOR, kind_of


@dataclass(slots=True, eq=False, kw_only=True)
class _Marker:
    """Marker that ``keyed_state`` and ``operator_state`` put on a class; never a field's value."""

    is_keyed: bool
    state_id: str | None
    serializer: str | None
    queryable_name: str | None = None
    redistribution: RedistributionMode | None = None
    field: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.field = f"{owner.__name__}.{name}"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        raise AttributeError(
            f"{self.field} declares state, which the running job has not put there yet"
        )


def keyed_state(
    state_id: str | None = None, *, serializer: str | None = None, queryable_name: str | None = None
) -> Any:
    """Return the marker of a keyed state; the annotation gives its kind and type.

    The marker is the field's default (``seen: ValueState[int] = keyed_state("seen")``) or part of
    the annotation (``seen: Annotated[ValueState[int], keyed_state("seen")]``), which ``__slots__``
    require. The running job assigns the state to the field; reading the field earlier fails.

    Args:
        state_id: Name under which the job registers the state; by default the name of the field
            without leading underscores.
        serializer: Hint for people: serializer of the values.
        queryable_name: Name under which other programs query the state.
    """
    return _Marker(
        is_keyed=True, state_id=state_id, serializer=serializer, queryable_name=queryable_name
    )


def operator_state(
    state_id: str | None = None,
    *,
    redistribution: RedistributionMode | str | None = None,
    serializer: str | None = None,
) -> Any:
    """Return the marker of an operator state; placed as that of ``keyed_state``.

    Args:
        state_id: See ``keyed_state``.
        redistribution: How Flink redistributes a list when the parallelism changes: ``split``
            (the default) or ``union``. A ``BroadcastState`` is ``broadcast``.
        serializer: Hint for people: serializer of the elements.

    Raises:
        DeclarationError: The redistribution is unknown.
    """
    try:
        mode = None if redistribution is None else RedistributionMode(redistribution)
    except ValueError as err:
        known = ", ".join(RedistributionMode)
        raise DeclarationError(
            f"operator state {state_id!r} has redistribution {redistribution!r}, none of {known}",
            operator="",
            state=state_id,
        ) from err
    return _Marker(is_keyed=False, state_id=state_id, serializer=serializer, redistribution=mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredField:
    """A field that declares state.

    Attributes:
        name: Name in the class namespace; a private name is mangled with its class.
    """

    name: str
    owner: type
    descriptor: StateDescriptor

    @property
    def label(self) -> str:
        """Return the name for messages: class and field."""
        return f"{self.owner.__name__}.{self.name}"


def declared_fields(cls: type) -> tuple[DeclaredField, ...]:
    """Return the state that a class declares on its fields; fields of base classes come first.

    A subclass that sets a field to something else removes its declaration; a subclass that declares
    the field again must declare the same kind of state. Subclasses substitute type variables.

    Raises:
        StateConflictError: Two fields declare one id, or a subclass changes the kind of a field.
        DeclarationError: A field's annotation is missing, cannot be resolved, is no kind of
            state, or leaves open what it holds.
    """
    found: dict[str, DeclaredField] = {}
    for owner in reversed(cls.__mro__):
        for name, marked in _own(owner).items():
            before = found.pop(name, None)
            if marked:
                marker, annotation = marked
                descriptor = _described(owner, name, marker, _bound(owner, name, annotation, cls))
                found[name] = DeclaredField(name=name, owner=owner, descriptor=descriptor)
                _check_redeclared(before, found[name])
    _check_ids(cls, found.values())
    return tuple(found.values())


def _own(owner: type) -> dict[str, tuple[_Marker, Any] | None]:
    """Return what a class itself sets: markers with their annotations, None for anything else."""
    annotations = inspect.get_annotations(owner)
    values = {**vars(owner), **_dataclass_markers(owner, annotations)}
    own: dict[str, tuple[_Marker, Any] | None] = dict.fromkeys(values)
    for name, annotation in annotations.items():
        marker = values.get(name)
        if isinstance(marker, _Marker):
            own[name] = (marker, _resolved(owner, name, annotation))
        elif marked := _in_annotation(owner, name, annotation):
            own[name] = marked
    for name, value in values.items():
        if isinstance(value, _Marker) and own[name] is None:
            raise _unusable(owner, name, "has no annotation that says what it holds")
    return own


def _dataclass_markers(owner: type, annotations: dict[str, Any]) -> dict[str, Any]:
    if "__dataclass_fields__" not in vars(owner) or not is_dataclass(owner):
        return {}
    defaults = {each.name: each.default for each in fields(owner)}
    return {name: defaults[name] for name in annotations if isinstance(defaults.get(name), _Marker)}


def _in_annotation(owner: type, name: str, annotation: Any) -> tuple[_Marker, Any] | None:
    """Return the marker that stands in an annotation, if one does."""
    if isinstance(annotation, str):
        if f"{keyed_state.__name__}(" not in annotation and (
            f"{operator_state.__name__}(" not in annotation
        ):
            return None  # names in other annotations may be undefined at run time
        annotation = _resolved(owner, name, annotation)
    if get_origin(annotation) is not Annotated:
        return None
    for each in annotation.__metadata__:
        if isinstance(each, _Marker):
            return each, _resolved(owner, name, annotation.__origin__)
    return None


_UNRESOLVED = (NameError, AttributeError, TypeError, SyntaxError)


def _resolved(owner: type, name: str, annotation: Any) -> Any:
    try:
        return resolved(owner, annotation)
    except _UNRESOLVED as err:
        raise _unresolvable(owner, name, annotation, err) from err


def _bound(owner: type, name: str, annotation: Any, cls: type) -> Any:
    try:
        return bound(annotation, owner, cls)
    except _UNRESOLVED as err:
        raise _unresolvable(owner, name, annotation, err) from err


def _unresolvable(owner: type, name: str, annotation: Any, err: Exception) -> DeclarationError:
    return _unusable(
        owner, name, f"has an annotation that cannot be resolved: {text_of(annotation)} ({err})"
    )


def _described(owner: type, name: str, marker: _Marker, annotation: Any) -> StateDescriptor:
    kind = kind_of(get_origin(annotation) or annotation)
    if is_open(annotation):
        raise _unusable(owner, name, f"leaves open what it holds: {text_of(annotation)}")
    value_type = ", ".join(text_of(each) for each in get_args(annotation)) or None
    state_id = marker.state_id or _plain(owner, name)
    if marker.is_keyed:
        if kind not in KEYED:
            raise _unusable(owner, name, f"is no keyed state: {text_of(annotation)}")
        return KeyedStateDescriptor(
            id=state_id,
            type=KEYED[kind],
            value_type=value_type,
            serializer=marker.serializer,
            queryable_name=marker.queryable_name,
        )
    if kind not in OPERATOR:
        raise _unusable(owner, name, f"is no operator state: {text_of(annotation)}")
    redistribution = marker.redistribution or OPERATOR[kind][0]
    if redistribution not in OPERATOR[kind]:
        raise _unusable(owner, name, f"is a {kind}, which is never redistributed {redistribution}")
    return OperatorStateDescriptor(
        id=state_id,
        redistribution=redistribution,
        value_type=value_type,
        serializer=marker.serializer,
    )


def _plain(owner: type, name: str) -> str:
    """Return a field's name as it stands in the class, without leading underscores."""
    return name.removeprefix(f"_{owner.__name__.lstrip('_')}__").lstrip("_")


def _unusable(owner: type, name: str, problem: str) -> DeclarationError:
    return DeclarationError(
        f"field {owner.__name__}.{name} {problem}",
        operator=owner.__name__,
        state=_plain(owner, name),
    )


def _check_redeclared(before: DeclaredField | None, field: DeclaredField) -> None:
    if before and before.descriptor.kind != field.descriptor.kind:
        raise StateConflictError(
            f"{field.label} declares {field.descriptor.id!r} as {field.descriptor.kind}, which"
            f" {before.label} declares as {before.descriptor.kind}",
            operator=field.owner.__name__,
            state=field.descriptor.id,
        )


def _check_ids(cls: type, found: Iterable[DeclaredField]) -> None:
    seen: dict[tuple[type, str], DeclaredField] = {}
    for field in found:
        twin = seen.setdefault((type(field.descriptor), field.descriptor.id), field)
        if twin is not field:
            raise StateConflictError(
                f"fields {twin.label} and {field.label} of {cls.__name__} both declare"
                f" {field.descriptor.id!r}: as {twin.descriptor.kind} and as"
                f" {field.descriptor.kind}",
                operator=cls.__name__,
                state=field.descriptor.id,
            )


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
