"""The templates of pages, which escape every value."""

import re
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from flinkstate.tables.printing import COMMAND_IN_TEXT
from flinkstate.text.shown_text import counted, human_bytes, visible
from orphangc.app.console.text import NO_JOB, duration, instant, share
from orphangc.app.render.reason_groups import ACTIONS, KIND_OF, KINDS, REASONS
from orphangc.app.render.stops import MARKS

_CODE = re.compile(rf"({COMMAND_IN_TEXT}|(?<![\w-])--[a-z]+(?:-[a-z]+)*)", re.ASCII)
"""A command or an option in a sentence; every second part of a split is one."""


def page_environment(*packages: str) -> Environment:
    """Return an environment with the templates of some packages and the texts of all pages.

    Foreign text (names in a bucket, error messages of a store) is escaped for HTML and loses its
    control characters here, not in the templates.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        human=human_bytes,
        exact="{:,}".format,
        counted=counted,
        instant=instant,
        duration=duration,
        share=share,
        split_code=_CODE.split,
    )
    environment.globals.update(
        kinds=KINDS, actions=ACTIONS, reasons=REASONS, kind_of=KIND_OF, no_job=NO_JOB, marks=MARKS
    )
    return environment


@cache
def _reports() -> Environment:
    return page_environment("orphangc.app.render")


def report(template: str, **context: Any) -> str:
    """Return a self-contained page: no script, no asset, no request."""
    return _reports().get_template(template).render(context)


def _finalized(value: object) -> object:
    """Return what an expression prints; foreign text cannot control the screen.

    The result of a macro is markup; its own expressions have passed through here already.
    """
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return visible(value)
