"""Flink's configuration files as text: ``flink-conf.yaml`` of 1.x, ``config.yaml`` since 1.19.

Source: Flink 1.14-2.3, ``GlobalConfiguration``: the older file has one ``key: value`` on a line,
and everything behind ``#`` is a comment; the newer one is YAML, flat or nested.
"""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from flinkstate.text.problems import NO_VALUE
from orphangc.core.discovery.texts.strict_fields import UnclearFieldError

OLD_FILE, NEW_FILE = "flink-conf.yaml", "config.yaml"
CONFIGURATION_FILES = (OLD_FILE, NEW_FILE)

_MOST_CHARS = 1 << 20
_MOST_BRACKETS = 1_000
"""Reading open brackets takes time by the square of their number."""
_BEGIN = re.compile(r"[\s:=]")
_REWRITTEN = re.compile(r"\+\d+|-?0\d+|-0|0o[0-7]+|0x[\da-fA-F]+")
"""Whole numbers of YAML 1.2 that Java spells otherwise."""
_LINE = re.compile(r"(?P<key>[^\s:]+)\s*:\s*(?P<value>.*)")


def options_of_file(name: str, text: str) -> Mapping[str, Any]:
    """Return the options of a configuration file, or raise ``UnclearFieldError``."""
    if len(text) > _MOST_CHARS:
        raise UnclearFieldError(name, f"has more than {_MOST_CHARS} characters", value=text)
    if name == OLD_FILE:
        return _of_lines(name, text)
    if name == NEW_FILE:
        return _of_yaml(name, text)
    why = f"is none of the files that Flink reads ({', '.join(CONFIGURATION_FILES)})"
    raise UnclearFieldError(name, why, value=text)


def _of_lines(name: str, text: str) -> dict[str, str]:
    """Return the options of the older format; ``UnclearFieldError`` if a line is of another form or
    below another option, as in YAML, or two lines give one option two values.

    A line without a space behind its colon counts: some releases read it, and others skip it.
    """
    found: dict[str, str] = {}
    around: int | None = None
    for line in text.splitlines():
        said = line.partition("#")[0].strip()
        match = _LINE.fullmatch(said)
        if said and match is None:
            why = f"has a line that is not understood: {_begin_of(said)!r}"
            raise UnclearFieldError(name, why, value=text)
        key, value = (match["key"], match["value"]) if match else ("", "")
        depth = len(line) - len(line.lstrip())
        if said and around is not None and depth > around:
            why = f"nests {_begin_of(said)!r}: write whole names"
            raise UnclearFieldError(name, why, value=text)
        around = (None if value else depth) if said else around
        if value and found.setdefault(key, value) != value:
            raise UnclearFieldError(name, f"gives {key} two values", value=text)
    return found


def _begin_of(said: str) -> str:
    """Return the name at the beginning of a setting; the rest may be a password."""
    return _BEGIN.split(said, maxsplit=1)[0][:40]


class _Texts(yaml.BaseLoader):
    """Loads YAML's texts as they stand, and refuses a key that stands twice, as Flink does.

    Flink reads YAML 1.2, in which ``no`` and ``on`` are texts, and what is empty or ``null`` is no
    value: ``rest:`` alone names nothing. Of a number Flink makes another text: ``0123`` is ``123``
    there (seen in Flink 1.19.3 and 2.3.0).
    """

    def construct_scalar(self, node: Any) -> str:
        if node.style is None and _REWRITTEN.fullmatch(node.value):
            raise yaml.constructor.ConstructorError(
                None, None, "Flink spells this number otherwise"
            )
        return str(super().construct_scalar(node))

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        found = {str(key): each for key, each in super().construct_mapping(node, deep=deep).items()}
        if len(found) != len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a key stands twice")
        return found


_NULL = "tag:yaml.org,2002:null"
_Texts.add_implicit_resolver(_NULL, re.compile(r"(~|null|Null|NULL|)\Z"), ["", "~", "n", "N"])
_Texts.add_constructor(_NULL, lambda *_: None)


def _of_yaml(name: str, text: str) -> Mapping[str, Any]:
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise UnclearFieldError(name, f"has more than {_MOST_BRACKETS} brackets", value=text)
    try:
        if any(isinstance(e, yaml.AliasToken | yaml.TagToken) for e in yaml.scan(text, _Texts)):
            raise UnclearFieldError(name, "has YAML aliases or tags", value=text)
        content = yaml.load(text, _Texts)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, *NO_VALUE) as err:
        raise UnclearFieldError(name, "is no YAML", value=text) from err
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise UnclearFieldError(name, "is no mapping", value=text)
    return content
