"""Fleets as people run them: what is refused for a while, or needs one word, is collected then."""

from datetime import timedelta

import pytest

from cli.helpers import AT_ONCE, STARTING, flink
from cli.stories import Story
from support.rest_server import RestServer

BUILD = "1.18.1-amzn-0"


def is_collected(story: Story, server: RestServer, *options: object, **cluster: object) -> bool:
    """Lay tombstones, complete a checkpoint, and delete; return whether exactly orphans go."""
    asked = ("--closed-world", "--flink-rest", server.url, *AT_ONCE, *options)
    story.bed.sweep(story.bed.plan(*asked), "--delete")
    story.job.checkpoint(9, *story.live, age=timedelta(0))
    server.routes.update(flink(story.job, completed=9, **cluster))
    story.bed.sweep(story.bed.plan(*asked), "--delete")
    assert all(path.exists() for path in story.live)
    return not any(path.exists() for path in story.orphans)


@pytest.mark.parametrize("accepted", [(), ("1.18.1-amzn-1",), (BUILD,), ("1.17.2-x", BUILD)])
def test_a_vendors_build_is_collected_once_the_operator_vouches_for_it(
    undeclared, accepted
) -> None:
    """U7: that very version, and it stands among the evidence."""
    options = [word for each in accepted for word in ("--accept-flink-version", each)]
    with RestServer(flink(undeclared.job, completed=8, version=BUILD)) as server:
        assert is_collected(undeclared, server, *options, version=BUILD) is (BUILD in accepted)
        plan = undeclared.bed.plan("--flink-rest", server.url, *options)
    said = {each["uri"] for each in plan.job(undeclared.job)["evidence"]}
    assert (f"accept-flink-version {BUILD}" in said) is (BUILD in accepted)
    assert "accept-flink-version 1.17.2-x" not in said


def restarting(story: Story) -> dict:
    """Return what REST says of the job while the adaptive scheduler waits for resources."""
    return flink(story.job, completed=8, status="CREATED", **STARTING)


def test_a_job_of_the_adaptive_scheduler_is_collected_once_it_runs_again(undeclared) -> None:
    """U9: refused as restarting, which lifts itself."""
    with RestServer(restarting(undeclared)) as server:
        plan = undeclared.bed.plan("--closed-world", "--flink-rest", server.url)
        assert plan.refusal(undeclared.job) == "restarting"
        message = plan.job(undeclared.job)["refused"]["message"]
        assert "starts or restarts (CREATED)" in message
        assert "once it runs" in message
        server.routes.update(flink(undeclared.job, completed=8))
        assert is_collected(undeclared, server)
