"""The kind, default and text of each option of a setting, from the settings' fields.

PYTHONPATH=tests python -m support.setting_texts      # writes the module
"""

import typing
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from orphangc.app.config.load import IMPLIED
from orphangc.app.config.yaml_text import field_docs
from orphangc.app.console.text import duration
from orphangc.core.model.settings import StorageRootSettings

MODULE = Path(__file__).parents[2] / "gc/orphangc/app/console/setting_texts.py"

_HEAD = '''"""Kind, default and text of each setting. Written by tests/support/setting_texts.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orphangc.core.model.codes import SearchScope

# ruff: noqa: E501 - one setting a line
# fmt: off

Texts = list[str] | None

SETTINGS: Mapping[str, tuple[Any, Any, str]] = {
'''
_GIVEN = {"root", *IMPLIED}
"""Fields that are no option: the argument, and what the loader of a file adds."""


def module() -> str:
    """Return the text of the module: the first paragraph of a field's docstring is its help."""
    docs = field_docs(StorageRootSettings)
    entries = [
        f"    {_quoted(name)}: ({_kind(field)}, {_default(field)}, {_quoted(_help(docs[name]))}),\n"
        for name, field in StorageRootSettings.model_fields.items()
        if name not in _GIVEN
    ]
    return f"{_HEAD}{''.join(entries)}}}\n"


def _help(doc: str) -> str:
    return " ".join(doc.partition("\n\n")[0].replace("``", "").split())


def _quoted(text: str) -> str:
    return f'"{text}"'


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
        return _quoted(f"{hours:.0f}h" if hours in {24, 72} else duration(default))
    if isinstance(default, Enum):
        return f"{type(default).__name__}.{default.name}"
    return "None" if isinstance(default, tuple) else repr(default)


if __name__ == "__main__":
    MODULE.write_text(module())
