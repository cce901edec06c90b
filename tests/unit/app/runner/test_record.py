"""The record of a run keeps what its plan says."""

from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.runner.record import Draft
from orphangc.core.documents.run_record import JobRecord
from orphangc.core.model.shown import RunMode
from unit.app.render.plan_builder import NOW, a_plan

OWN = {"amounts", "looks", "state_self_sustained"}


def test_a_record_says_of_each_job_what_the_plan_says():
    """Refused, blocked and clear: all but its own sums and what earlier runs saw."""
    plan, breakdown = a_plan()
    draft = Draft(
        run_id="run",
        settings=ScheduledRoot(root=plan.root),
        started_at=NOW,
        effective_mode=RunMode.REPORT,
        plan=plan,
        breakdown=breakdown,
    )
    recorded = {each.job_id: each for each in draft.finished(NOW).jobs}
    for job in plan.jobs:
        for name in JobRecord.model_fields.keys() - OWN:
            assert getattr(recorded[job.job_id], name) == getattr(job, name), name
    assert any(each.refused for each in plan.jobs)
    assert any(each.blocked for each in plan.jobs)
