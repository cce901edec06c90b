"""Places that a job's arguments, variables and own options name: its code may keep state there.

What they mean only the job's code knows. A place whose name speaks of state is searched; another
one is *mentioned*: in the bucket of a searched place it blocks, unless something searches it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orphangc.core.discovery.discovered_facts import (
    DirectoryFact,
    DirectoryUse,
    Fact,
    Origin,
    UnclearFact,
    digest_of,
)
from orphangc.core.discovery.texts.flink_options import (
    FoundOptions,
    Reading,
    directory_fact,
    flat_options,
    is_in_some_bucket,
    is_read_as_state,
    literal_prefix,
    meant_by,
    option_facts,
    pinned,
)
from orphangc.core.model.redaction import redacted

_URI = re.compile(
    r"(?<![\w+.\-])(?:s3[anp]?|gc?s|oss|cosn?|obs|abfss?|wasbs?|hdfs|viewfs|webhdfs|file|swift"
    r"|o3fs|ofs|jfs|alluxio|adl|dbfs|maprfs|tos|bos|ks3|lakefs)"
    r":/[^\s,;'\"|]*",
    re.IGNORECASE,
)
"""A place in a text; other protocols hold no checkpoints."""
_OF_STATE = re.compile(
    r"checkpoint|savepoint|ckpt|chk|snapshot|state|recover|restore|/[\da-f]{32}(?![\da-f])",
    re.IGNORECASE,
)
"""A word of state, or the directory of a job."""
_CHECKPOINT = re.compile(r"/(?:chk-\d+|savepoint-[\da-f]+-[\da-f]+)(?:/_metadata)?/?$")
"""End of the path of a checkpoint or savepoint, as Flink names its folder."""
OF_CHECKPOINTS = re.compile(r"checkpoint|savepoint|ckpt", re.IGNORECASE)
_PLACE_OPTION = re.compile(
    r"-*[\w.\-]*(?:checkpoint|savepoint|ckpt)[\w.\-]*"
    r"(?:dir|directory|path|ur[il]|location|folder|bucket|container|prefix|root|base)",
    re.IGNORECASE,
)
_OPTION_WITH_VALUE = re.compile(r"(?P<name>-*[\w.\-]+)=(?P<value>.*)", re.DOTALL)
_ARGUMENTS = re.compile(r"\$internal\.application\.program-args|pipeline\.global-job-parameters.*")
"""Options that hold a job's own arguments.

Source: Flink 1.14-2.3, ``ApplicationConfiguration``, ``PipelineOptions``.
"""
_JARS = re.compile(r"pipeline\.(?:jars|classpaths)|user\.artifacts\..+|\$internal\..+")
"""Options that name code."""


@dataclass(frozen=True, slots=True)
class FoundArguments:
    """Words that a job's code reads, and their place: resource and field."""

    words: Sequence[str]
    origin: Origin


def configuration_facts(found: FoundOptions, reading: Reading) -> Iterator[Fact]:
    """Yield the facts of a configuration, and the places that its other options name."""
    yield from option_facts(found, reading)
    for name, value in flat_options(found.content):
        if not is_read_as_state(name):
            yield from _option_facts(name, value, found.origin.below(name), reading)


def _option_facts(name: str, value: Any, where: Origin, reading: Reading) -> Iterator[Fact]:
    if _ARGUMENTS.fullmatch(name):
        words = value if isinstance(value, list) else re.split(r"[;,]", str(value))
        named = name.rpartition("global-job-parameters.")[2]
        prefix = f"{named}=" if named != name else ""
        found = FoundArguments([f"{prefix}{each}" for each in words], where)
        yield from argument_facts(found, reading)
    elif not _JARS.fullmatch(name) and OF_CHECKPOINTS.search(f"{name}={value}"):
        for uri in _URI.findall(str(value)):
            yield directory_fact(uri, DirectoryUse.ARGUMENTS, where, reading)


def argument_facts(found: FoundArguments, reading: Reading) -> Iterator[Fact]:
    """Yield the places that words name."""
    before = ""
    for word in found.words:
        option = before if before.startswith("-") and "=" not in before else ""
        yield from _word_facts(option, word, found.origin, reading)
        before = word


def _word_facts(option: str, word: str, where: Origin, reading: Reading) -> Iterator[Fact]:
    """Yield the places that one word names, which stands behind an option or has it inside."""
    uris = _URI.findall(word)
    for uri in uris:
        if _CHECKPOINT.search(uri):
            yield from pinned(uri, where, reading)
        elif _OF_STATE.search(f"{option} {word}"):
            yield directory_fact(uri, DirectoryUse.ARGUMENTS, where, reading)
        else:
            yield from _mentioned(uri, where, reading)
    match = _OPTION_WITH_VALUE.fullmatch(word)
    name, value = (match["name"], match["value"]) if match else (option, word)
    is_path = value.startswith("/") and OF_CHECKPOINTS.search(f"{name} {value}")
    is_part = _PLACE_OPTION.fullmatch(name) or ("/" in value and OF_CHECKPOINTS.search(name))
    is_value = bool(name) and not value.startswith("-") and is_part
    if value and not uris and (is_path or is_value):
        yield directory_fact(value, DirectoryUse.ARGUMENTS, where, reading)


def _mentioned(uri: str, where: Origin, reading: Reading) -> Iterator[Fact]:
    """Yield the places that a URI may mean whose name does not speak of state.

    A bucket that is not known may be that of any searched place. A local path is one of a pod, if
    no alias says what it means here.
    """
    place = literal_prefix(uri)
    if place is None and is_in_some_bucket(uri):
        yield UnclearFact(
            why=f"names {redacted(uri)!r}, in a bucket that is not known: its code may keep"
            " checkpoints there",
            is_everywhere=True,
            digest=digest_of(uri),
            origin=where,
        )
    elif place is not None:
        known = meant_by(place, reading.aliases)
        for each in known if place.authority else known[1:]:
            yield DirectoryFact(uri=each, use=DirectoryUse.MENTIONED, origin=where)
