"""Command lines of containers: only what is understood as a whole is read.

Source: Flink 1.14-2.3, entry point of the official image, ``jobmanager.sh``, ``standalone-job.sh``,
``kubernetes-jobmanager.sh``; ``DynamicParametersConfigurationParserFactory``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orphangc.core.discovery.texts.configuration_texts import begin_of
from orphangc.core.discovery.texts.strict_fields import UnclearFieldError

_JOB_MANAGERS: Mapping[str, frozenset[str]] = {
    "jobmanager": frozenset(),
    "standalone-job": frozenset(),
    "jobmanager.sh": frozenset({"start", "start-foreground"}),
    "standalone-job.sh": frozenset({"start", "start-foreground"}),
    "kubernetes-jobmanager.sh": frozenset({"kubernetes-session", "kubernetes-application"}),
}
"""Words that must follow a command which starts a JobManager; without any, options follow."""
_OTHERS = frozenset(
    {"taskmanager", "taskmanager.sh", "kubernetes-taskmanager.sh", "history-server", "help"}
)
_WRAPPERS = frozenset({"docker-entrypoint.sh", "exec", "tini", "--"})
_SHELLS = frozenset({"bash", "sh", "dash"})
_RUN_SCRIPT = re.compile(r"-[a-z]*c")
_OPERATORS = re.compile(r"[;|&<>()`\n*?\[\]!~]")
"""Characters by which a shell does more than to run one command."""
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<plain>\w+))")
REFERENCE = re.compile(r"\$\(([^()\s]+)\)")
"""A variable in a text, as Kubernetes expands it."""
_LIKE_A_PATH = re.compile(r"^-\w/|:/|\$")
_HOME = {"FLINK_HOME": "/opt/flink"}
_SAVEPOINTS = ("-s", "--fromSavepoint")
_FOLDERS = ("-c", "--configDir")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """What a command line says.

    Attributes:
        starts_job_manager: Whether it starts a JobManager; otherwise another process of Flink.
        settings: Options behind ``-D``.
        restored: Checkpoints and savepoints to start from.
        folders: Folders of the configuration.
        arguments: Words that may be arguments of the job.

    """

    starts_job_manager: bool
    settings: Mapping[str, str]
    restored: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


def command_line(
    words: Sequence[str], variables: Mapping[str, str], harmless: frozenset[str] = frozenset()
) -> CommandLine:
    """Return what a command line says.

    Args:
        words: Command and arguments of a container.
        variables: Its environment, as far as it is known.
        harmless: Variables whose value is unknown, and can be no option: addresses and names.

    Raises:
        UnclearFieldError: A part of it is not understood.

    """
    expanded = [_with_references(each, variables, harmless) for each in words]
    left = list(_unwrapped(expanded, variables))
    name = left[0].rpartition("/")[2] if left else ""
    if name in _OTHERS:
        return CommandLine(starts_job_manager=False, settings={})
    if name not in _JOB_MANAGERS:
        raise UnclearFieldError("", f"starts {name[:40]!r}, which is no command of Flink's")
    following = _JOB_MANAGERS[name]
    if following and (len(left) < 2 or left[1] not in following):  # noqa: PLR2004
        raise UnclearFieldError("", f"says to {name} what is not understood")
    return _with_options(left[2:] if following else left[1:])


def _with_references(word: str, variables: Mapping[str, str], harmless: frozenset[str]) -> str:
    """Return a word as Kubernetes expands it: ``$(NAME)``."""

    def value(match: re.Match[str]) -> str:
        if match[1] in harmless:
            return match[0]
        if match[1] not in variables:
            raise UnclearFieldError("", f"refers to {match[1]}, whose value is not known")
        return variables[match[1]]

    if "$$" in word:
        raise UnclearFieldError("", "holds $$, which is not understood")
    return REFERENCE.sub(value, word)


def _unwrapped(words: Sequence[str], variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the words without the shells and entry points around them."""
    for position, word in enumerate(words):
        name = word.rpartition("/")[2]
        if name in _SHELLS:
            script = words[position + 1 :]
            if len(script) != 2 or not _RUN_SCRIPT.fullmatch(script[0]):  # noqa: PLR2004
                raise UnclearFieldError("", f"runs {name} in a way that is not understood")
            yield from _unwrapped(_words_of_script(script[1], variables), variables)
            return
        if name not in _WRAPPERS:
            yield from words[position:]
            return


def _words_of_script(script: str, variables: Mapping[str, str]) -> list[str]:
    """Return the words of a shell's script that is one command."""
    known = {**_HOME, **variables}

    def value(match: re.Match[str]) -> str:
        name = match["braced"] or match["plain"]
        if name not in known or re.search(r"[\s'\"\\$]", known[name]):
            raise UnclearFieldError("", f"refers to {name}, whose value is not known")
        return known[name]

    text = _VARIABLE.sub(value, script.replace("\\\n", " ").strip())
    if "$" in text or _OPERATORS.search(text):
        raise UnclearFieldError("", "runs a script that is more than one command")
    try:
        return shlex.split(text)
    except ValueError as err:
        raise UnclearFieldError("", "runs a script whose quotes are not closed") from err


def _with_options(words: Sequence[str]) -> CommandLine:
    settings: dict[str, str] = {}
    for value in _values(words, "-D"):
        key, equals, text = value.partition("=")
        if not equals or settings.setdefault(key.strip(), text) != text:
            raise UnclearFieldError("", f"gives {begin_of(key)!r} no value, or two")
    return CommandLine(
        starts_job_manager=True,
        settings=settings,
        restored=tuple(value for name in _SAVEPOINTS for value in _values(words, name)),
        folders=tuple(value for name in _FOLDERS for value in _values(words, name)),
        arguments=tuple(_arguments(words)),
    )


def _arguments(words: Sequence[str]) -> Iterator[str]:
    """Yield the words that set no option of Flink's, and are no value of such a one."""
    for before, word in zip(("", *words), words, strict=False):
        if not word.startswith("-D") and before not in {"-D", *_SAVEPOINTS, *_FOLDERS}:
            yield word


def _values(words: Sequence[str], name: str) -> Iterator[str]:
    """Yield each value of an option, as the next word or in the same one.

    Source: Apache Commons CLI 1.4-1.5, ``DefaultParser``, which Flink uses: ``-Dk=v``, ``-D k=v``,
    ``--name=v``, ``--name v``, ``-nv``, and the beginning of a long name.
    """
    for word, following in zip(words, (*words[1:], ""), strict=False):
        stem, equals, value = word.partition("=")
        if word == name:
            yield following
        elif name.startswith("--"):
            if len(stem) > len("--f") and name.startswith(stem):
                yield value if equals else following
        elif word.startswith(name) and (name == "-D" or _LIKE_A_PATH.search(word)):
            yield word.removeprefix(name)
