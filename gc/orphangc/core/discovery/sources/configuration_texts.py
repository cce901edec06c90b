"""Flink's configuration files as text: ``flink-conf.yaml`` of 1.x, ``config.yaml`` since 1.19.

Source: Flink 1.14-2.3, ``GlobalConfiguration``: the older file has one ``key: value`` on a line,
and everything behind ``#`` is a comment; the newer one is YAML, flat or nested.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from orphangc.core.discovery.sources.strict_fields import UnclearFieldError

OLD_FILE, NEW_FILE = "flink-conf.yaml", "config.yaml"
CONFIGURATION_FILES = (OLD_FILE, NEW_FILE)

_MOST_CHARS = 1 << 20


def options_of_file(name: str, text: str) -> Mapping[str, Any]:
    """Return the options of a configuration file.

    Args:
        name: Base name of the file, which decides its format.
        text: Content of the file.

    Raises:
        UnclearFieldError: It cannot be understood.

    """
    if len(text) > _MOST_CHARS:
        raise UnclearFieldError(name, f"has more than {_MOST_CHARS} characters")
    return _of_yaml(name, text) if name == NEW_FILE else options_of_lines(text)


def options_of_lines(text: str) -> dict[str, str]:
    """Return the options of a text of the older format.

    The variable FLINK_PROPERTIES of the image has it, too. A line that Flink skips names nothing.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition("#")[0].strip().partition(": ")
        if colon and key.strip() and value.strip():
            found[key.strip()] = value.strip()
    return found


def _of_yaml(name: str, text: str) -> Mapping[str, Any]:
    try:
        if any(isinstance(each, yaml.AliasToken) for each in yaml.scan(text, yaml.SafeLoader)):
            raise UnclearFieldError(name, "has YAML aliases")
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as err:
        raise UnclearFieldError(name, "is no YAML") from err
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise UnclearFieldError(name, "is no mapping")
    return {str(key): value for key, value in content.items()}
