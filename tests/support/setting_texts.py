"""The kind, default, look and text of each option of a setting, from the settings' fields.

PYTHONPATH=tests python -m support.setting_texts      # writes the module
"""

import typing
from datetime import timedelta
from enum import Enum, EnumType
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from orphangc.app.config.schema import field_docs
from orphangc.app.console.text import duration
from orphangc.core.model.settings import IS_PLACE, IS_URL, StorageRootSettings
from orphangc.core.model.shown import Shown, marked, shown_fields

MODULE = Path(__file__).parents[2] / "gc/orphangc/app/console/setting_texts.py"

_HEAD = '''"""Kind, default, look, text of settings. Written by tests/support/setting_texts.py."""

from collections.abc import Mapping
from typing import Any

from orphangc.core.model.shown import SearchScope, Shown

# ruff: noqa: E501 - one setting a line
# fmt: off

Texts = list[str] | None

SETTINGS: Mapping[str, tuple[Any, Any, Shown, str]] = {
'''


def module() -> str:
    """Return the text of the module: the first paragraph of a field's docstring is its help."""
    docs = field_docs(StorageRootSettings)
    entries = [
        f'    "{name}": ({_kind(field)}, {_default(field)}, {_look(name, shown)},'
        f' "{_help(docs[name])}{_more(field)}"),\n'
        for name, shown in shown_fields(StorageRootSettings).items()
        for field in [StorageRootSettings.model_fields[name]]
    ]
    return f"{_HEAD}{''.join(entries)}}}\n"


def _help(doc: str) -> str:
    return " ".join(doc.partition("\n\n")[0].replace("``", "").split())


def _more(field: FieldInfo) -> str:
    if _kind(field) != "Texts":
        return ""
    is_of_words = isinstance(typing.get_args(field.annotation)[0], EnumType)
    return " Repeatable, or with commas between." if is_of_words else " Repeatable."


def _look(name: str, shown: Shown) -> str:
    """Return how the option shows the setting; the type says which values are places and times."""
    found = shown._replace(metavar=shown.metavar or _WORDS.get(name))
    said = {key: value for key, value in found._asdict().items() if value}
    return f"Shown({', '.join(f'{key}={_literal(value)}' for key, value in said.items())})"


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


_WORDS = {
    **dict.fromkeys(marked(StorageRootSettings, timedelta), "DURATION"),
    **dict.fromkeys(marked(StorageRootSettings, IS_PLACE), "URL"),
    **dict.fromkeys(marked(StorageRootSettings, IS_URL), "URL"),
}


def _kind(field: FieldInfo) -> str:
    """Return the kind of an option's value: what is read as text, and what may be repeated."""
    first, *others = typing.get_args(field.annotation) or (field.annotation,)
    if typing.get_origin(field.annotation) is tuple or first is float:
        return "Texts"
    return f"{_name(first)} | None" if others else _name(first)


def _name(hint: Any) -> str:
    hint = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
    return "str" if hint is timedelta else hint.__name__


def _default(field: FieldInfo) -> str:
    default = field.default
    if isinstance(default, timedelta):
        hours = default.total_seconds() / 3600
        return _literal(f"{hours:.0f}h" if hours in {24, 72} else duration(default))
    if isinstance(default, Enum):
        return f"{type(default).__name__}.{default.name}"
    return "None" if isinstance(default, tuple) else repr(default)


if __name__ == "__main__":
    MODULE.write_text(module())
