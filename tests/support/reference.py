"""The reference pages in ``gc/reference``: each table is made from the code that it describes.

PYTHONPATH=tests python -m support.reference      # writes the pages anew
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from operator import itemgetter
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from typer.main import get_command

from orphangc import errors
from orphangc.app.cli import app
from orphangc.app.config.configuration import Configuration, ScheduledRoot
from orphangc.app.config.schema import field_docs
from orphangc.app.config.validate import SPELLED
from orphangc.app.console.text import duration
from orphangc.app.render import advice
from orphangc.app.render.reason_groups import ACTIONS, REASONS
from orphangc.app.telemetry.metrics import Metrics
from orphangc.core.decision.conditions import CONDITIONS
from orphangc.core.decision.guards import GUARDS
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.settings import SAFE_MINIMUMS
from orphangc.core.model.types import Action, Outcome, Reason
from orphangc.errors import ExitCode

FOLDER = Path(__file__).parents[2] / "gc" / "reference"

_MADE = "<!-- Written by tests/support/reference.py from the code: change it there. -->"
_RULE = re.compile(r"\bR\d+a?\b")

_LATE_RULES: Mapping[str, str] = {
    "dependent_job": "R12",
    "revived": "R17",
    "max_delete_share": "R20",
    "max_deletes": "R20",
}
"""Rules of what is judged after the checks of the two tables: in ``judge`` and in the cycle."""

OUTCOMES: Mapping[Outcome, str] = {
    Outcome.DONE: "it was carried out",
    Outcome.PLANNED: "it was not carried out: without `--delete`, or something stops its job",
    Outcome.GONE: "nothing is stored at the key any more",
    Outcome.CHANGED: (
        "the sweep, which reads all evidence again, does not ask for the same; `error` says so of"
        " what was not stored earlier than the plan's listing by `--clock-skew`"
    ),
    Outcome.FAILED: "the storage refused, or did not say; a later plan tries again",
}


def pages() -> dict[str, str]:
    parts: Mapping[str, tuple[str, Callable[[], str]]] = {
        "commands.md": ("Every command and its options", _commands),
        "configuration.md": ("Every key of the configuration file", _configuration),
        "verdicts.md": ("How one object is decided, reason by reason", _verdicts),
        "guards.md": ("Every guard and condition: meaning, rule, what to do", _guards),
        "exit-codes.md": ("Exit codes", _exit_codes),
        "metrics.md": ("Every metric", _metrics),
    }
    made = {name: f"# {title}\n\n{_MADE}\n\n{text()}\n" for name, (title, text) in parts.items()}
    index = "\n".join(f"- [{title}]({name})" for name, (title, _) in parts.items())
    return {"README.md": f"# Reference\n\n{_MADE}\n\n{_INDEX}\n\n{index}\n", **made}


_INDEX = (
    "A script makes these pages from the code, and a test compares them with it. The"
    " [README](../../README.md) is where to begin."
)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown; a cell is one line."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, each))} |" for each in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("``", "`").split()).replace("|", r"\|") or " "


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


# --- commands


def _commands() -> str:
    root = get_command(app)
    head = (
        "`orphangc --version` prints the version, `orphangc --verbose COMMAND` logs single steps."
    )
    return "\n\n".join(
        [head, *(_command(*each) for each in sorted(commands(root), key=itemgetter(0)))]
    )


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, each in getattr(command, "commands", {}).items():
        yield from commands(each, (*words, name))
    if words and not hasattr(command, "commands") and not command.hidden:
        yield " ".join(words), command


def _command(words: str, command: Any) -> str:
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    arguments = [each for each in shown if each.param_type_name == "argument"]
    usage = " ".join(["orphangc", words, *(_placeholder(each) for each in arguments)])
    rows = [(_spelled(each), _default(each), _meaning(each)) for each in shown]
    text = "\n\n".join([*inspect.cleandoc(command.help).split("\f")[:1], _example(command)])
    return f"## `{usage}`\n\n{text}\n\n{_table(('option', 'default', 'meaning'), rows)}"


def _example(command: Any) -> str:
    return f"Example: `{command.epilog.removeprefix('Example: ')}`"


def _meaning(parameter: Any) -> str:
    kind = parameter.type_descriptor.annotation
    if not (isinstance(kind, type) and issubclass(kind, Enum)) or "table" in parameter.help:
        return parameter.help or ""
    return f"{parameter.help} One of {', '.join(map(_value, kind))}."


def _placeholder(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _spelled(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return _code(_placeholder(parameter))
    return ", ".join(map(_code, parameter.opts))


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    return _value(parameter.default)


def _value(value: object) -> str:
    if value is None or value in ((), [], {}):
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, timedelta):
        return _code(duration(value))
    return _code(str(value.value if isinstance(value, Enum) else value))


# --- configuration file


def _configuration() -> str:
    parts: Mapping[str, type[BaseModel]] = {
        "At the top": Configuration,
        "`storage_roots:`, each": ScheduledRoot,
        "`expire:` of a storage root": RetentionPolicy,
        **{f"`{name}:`": part for name, part in _sections()},
    }
    sections = [
        f"## {title}\n\n{_table(('key', 'default', 'meaning'), _keys(model))}"
        for title, model in parts.items()
    ]
    minimums = [(_code(name), _value(least), why) for name, (least, why) in SAFE_MINIMUMS.items()]
    smallest = _table(("key", "minimum", "below it"), minimums)
    return "\n\n".join([_CONFIGURATION_HEAD, *sections, _MINIMUMS_HEAD, smallest])


_CONFIGURATION_HEAD = (
    "`orphangc config schema` prints the JSON schema, `orphangc config show` the effective"
    " configuration without credentials. `${NAME}` takes a value from the environment;"
    " `ORPHANGC_MODE`, `ORPHANGC_HTTP__PORT` and so on win over the file. Durations are spelled"
    " `72h`, `15m`, `1d12h`."
)


_MINIMUMS_HEAD = (
    "## Safe minimums\n\n`allow_short_margins` (`--allow-short-margins`) accepts less, for tests"
    " and demonstrations."
)


def _sections() -> Iterator[tuple[str, type[BaseModel]]]:
    fields = Configuration.model_fields.items()
    return ((name, each.annotation) for name, each in fields if _is_part(each))


def _keys(model: type[BaseModel]) -> Iterator[tuple[str, str, str]]:
    spelled = SPELLED if model is ScheduledRoot else {}
    shown = model.model_json_schema()["properties"]
    docs = field_docs(model)
    for name, each in model.model_fields.items():
        if name in shown and not _is_part(each):
            yield (
                _code(spelled.get(name, name)),
                _key_default(each),
                each.description or docs.get(name, ""),
            )


def _is_part(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def _key_default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is PydanticUndefined:
        return ""
    if isinstance(default, (tuple, frozenset)):
        return ", ".join(map(_value, default))
    return _value(default)


# --- verdicts, guards, conditions


def _verdicts() -> str:
    head = (
        "The first line that applies is the object's reason. `orphangc explain KEY --plan DIR`"
        " shows it."
    )
    reasons = _table(("reason", "what it means"), [(_code(r), REASONS[r].meaning) for r in Reason])
    actions = _table(("action", "what it means"), [(_code(a), ACTIONS[a].meaning) for a in Action])
    became = _table(("outcome", "what it means"), [(_code(o), OUTCOMES[o]) for o in Outcome])
    return (
        f"{head}\n\n{reasons}\n\n## What a sweep is to do with it\n\n{actions}"
        f"\n\n## What became of it in a sweep\n\n{became}"
    )


def _guards() -> str:
    refused = [_stop(each, advice.GUARDS[each], GUARDS.get(each)) for each in Guard]
    blocked = [_stop(each, advice.CONDITIONS[each], CONDITIONS.get(each)) for each in Condition]
    return "\n\n".join(
        [_GUARDS_HEAD, _table(_STOPS, refused), _LINKED, _CONDITIONS_HEAD, _table(_STOPS, blocked)]
    )


_STOPS = ("name", "meaning", "rule", "what to do")
_GUARDS_HEAD = (
    "The rules are those of [`SAFETY.md`](../SAFETY.md).\n\n## A guard refuses a job\n\n"
    "What the job needs cannot be known, so every file in its directory is kept."
)
_LINKED = f"Where the message of `{Guard.UNREADABLE_ROOT}` speaks of a link: {advice.LINK.text}"
_CONDITIONS_HEAD = (
    "## A condition blocks a job\n\nThe plan is sound as a report. A sweep deletes nothing of the"
    " job while the condition is unmet."
)


def _stop(code: str, words: advice.Advice, check: object) -> tuple[str, str, str, str]:
    return _code(str(code)), f"{words.title}.", rules_of(code, check), words.text


def rules_of(code: str, check: object) -> str:
    """Return the rules that the first line of a check's docstring names."""
    rules = _RULE.findall((getattr(check, "__doc__", None) or "").partition("\n")[0])
    return ", ".join(rules) or _LATE_RULES[code]


# --- exit codes


def _exit_codes() -> str:
    said = _said_of_members(ExitCode)
    rows = [(_code(str(int(each))), said[each.name]) for each in ExitCode]
    signalled = [
        (_code("130"), "SIGINT ended the command in order."),
        (_code("143"), "SIGTERM ended the command in order; `serve` exits with 0."),
    ]
    raised = [
        (_code(name), _code(str(int(each.exit_code))), _first_line(each))
        for name, each in _errors()
    ]
    return "\n\n".join(
        [
            _table(("exit code", "meaning"), [*rows, *signalled]),
            "## Errors and their exit codes",
            _table(("error", "exit code", "when"), raised),
        ]
    )


def _errors() -> Iterator[tuple[str, type[errors.OrphanGcError]]]:
    base = errors.OrphanGcError
    yield "OrphanGcError", base
    for name, each in vars(errors).items():
        if isinstance(each, type) and issubclass(each, base) and each is not base:
            yield name, each


def _first_line(each: type) -> str:
    return (each.__doc__ or "").partition("\n")[0]


def _said_of_members(enum: type[Enum]) -> dict[str, str]:
    """Return the docstring below each member of an enum."""
    (body,) = ast.parse(inspect.getsource(enum)).body
    assert isinstance(body, ast.ClassDef)
    said = {}
    for member, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(member, ast.Assign) and isinstance(text, ast.Expr):
            said[ast.unparse(member.targets[0])] = ast.literal_eval(text.value)
    return said


# --- metrics


def _metrics() -> str:
    registry = Metrics([ScheduledRoot(root="s3://bucket/checkpoints", schedule="6h")], "1").registry
    rows = [
        (_code(_series(each)), each.type, ", ".join(map(_code, _labels(each))), each.documentation)
        for each in registry.collect()
    ]
    head = (
        "The daemon answers at `/metrics`; `run` pushes them (`metrics.pushgateway`) or writes a"
        " file (`metrics.textfile`). Alerts and a dashboard are in"
        " [`deploy/monitoring`](../../deploy/monitoring/README.md)."
    )
    return f"{head}\n\n{_table(('name', 'type', 'labels', 'meaning'), rows)}"


def _series(family: Any) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name


def _labels(family: Any) -> list[str]:
    names = {name for sample in family.samples for name in sample.labels}
    return sorted(names - {"le"})


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
