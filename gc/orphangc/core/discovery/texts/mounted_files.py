"""Files of mounted ConfigMaps that are no configuration of Flink's: a job's code may read them.

A line of a file that speaks of checkpoints is read as an argument is, under the names of the parts
around it: by indentation (YAML, JSON, HOCON, XML) and by sections (TOML, INI).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from orphangc.core.discovery.discovered_facts import Origin
from orphangc.core.discovery.texts.flink_options import FoundOptions
from orphangc.core.discovery.texts.job_arguments import OF_CHECKPOINTS, FoundArguments

_TAGS = re.compile(r"</?|>")
"""What separates the elements of XML in a line."""
_PROPERTY = re.compile(r"(?P<name>[\w.\-]+)\s*(?:=|:(?=\s))\s*(?P<value>.*)")
_SECTION = re.compile(r"\[+\s*(?P<name>[\w.\-]+)\s*\]+")
_NAME = re.compile(r"[\w.\-]*\w")
_QUOTES = "\"'"
_HADOOPS_FILE = "-site.xml"
_HADOOPS_PROPERTY = re.compile(
    r"<name>\s*(?P<name>fs\.[^<\s]+)\s*</name>\s*<value>\s*(?P<value>[^<]*?)\s*</value>"
)
"""An option of Hadoop's file systems.

Source: Hadoop 3.3-3.4, ``Configuration``.
"""


def words_of_file(name: str, text: str, where: Origin) -> Iterator[FoundArguments | FoundOptions]:
    """Yield what a job's code or Hadoop's file systems may read in a file.

    Args:
        name: Name of the file.
        text: Its content.
        where: Its place.

    """
    if name.endswith(_HADOOPS_FILE):
        found = _HADOOPS_PROPERTY.finditer(text)
        yield FoundOptions({each["name"]: each["value"] for each in found}, where)
    if OF_CHECKPOINTS.search(text):
        for word in _words(text):
            yield FoundArguments([word], where)


def _words(text: str) -> Iterator[str]:
    section = ""
    around: list[tuple[int, str]] = []
    for line in text.splitlines():
        said = line.strip()
        if match := _SECTION.fullmatch(said):
            section, around = match["name"], []
        elif said:
            depth = len(line) - len(line.lstrip())
            around = [each for each in around if each[0] < depth]
            above = ".".join(filter(None, (section, *(name for _, name in around))))
            yield from _words_of_line(said, above)
            if name := _NAME.search(said):
                around.append((depth, name[0]))


def _words_of_line(said: str, above: str) -> Iterator[str]:
    """Yield the parts of a line, each as ``name=value`` with the names around it."""
    for part in filter(None, map(str.strip, _TAGS.split(said))):
        match = _PROPERTY.fullmatch(part)
        names = ".".join(filter(None, (above, match["name"] if match else "")))
        value = match["value"].strip(_QUOTES) if match else part.removeprefix("- ")
        yield f"{names}={value}" if names else value
