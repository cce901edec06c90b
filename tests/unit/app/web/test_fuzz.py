"""Schemathesis plays every route of the published description, well and badly; nothing gives."""

import os

import pytest
import schemathesis
from hypothesis import settings
from prometheus_client import CollectorRegistry
from schemathesis.checks import not_a_server_error

from orphangc.app.config.configuration import HttpSettings
from orphangc.app.render_checkpoint.checkpoint_html import page_part
from orphangc.app.web.http_app import create_app
from unit.app.web.statuses import ORDERS, PAYMENTS, Source, troubled, well

# Schemathesis asks by Starlette's test client, which wants another release of httpx.
pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx` with `starlette")

_EXAMPLES = min(60, settings.get_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev")).max_examples)
"""A route has few parameters; more examples say the same again."""

NAMED = HttpSettings(allowed_hosts=("testserver",))
APP = create_app(Source(troubled()), CollectorRegistry(), page_part, NAMED)
schema = schemathesis.openapi.from_asgi("/openapi.json", APP)


@schema.parametrize()
@settings(max_examples=_EXAMPLES, deadline=None)
def test_no_request_finds_an_answer_that_is_not_described(case):
    """All of Schemathesis' checks: no 5xx but those described, types, schemas, methods, headers."""
    case.call_and_validate()


@pytest.mark.parametrize("story", [well, troubled])
@pytest.mark.parametrize("job_id", [ORDERS, PAYMENTS])
def test_what_exists_is_as_described_too(story, job_id):
    """Random ids find nothing; these find something."""
    status = story()
    described = schemathesis.openapi.from_asgi(
        "/openapi.json", create_app(Source(status), CollectorRegistry(), page_part, NAMED)
    )
    run = status.roots[0].records[-1].run_id
    for path, parameters in (
        ("/jobs/{job_id}", {"job_id": job_id}),
        ("/jobs/{job_id}/state-self-sustained", {"job_id": job_id}),
        ("/runs/{run_id}", {"run_id": run}),
    ):
        case = described[path]["GET"].Case(path_parameters=parameters)
        checked = case.call_and_validate(excluded_checks=[not_a_server_error])  # 503 is described
        assert checked.status_code in {200, 503}
