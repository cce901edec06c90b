"""Plans on disk, as a run leaves them, with the record that names them."""

from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.adapters.rows.verdict_files import VerdictFiles
from unit.app.render.plan_builder import a_plan, verdicts
from unit.app.web.statuses import a_record


def a_kept_plan(folder, *, batch=None, jobs=None, **changes):
    batch = verdicts() if batch is None else batch
    directory = PlanDirectory(folder)
    directory.prepared()
    files = VerdictFiles(directory.verdicts)
    for start in range(0, batch.num_rows, 500):
        files.write(batch.slice(start, 500))
    files.close()
    plan, _ = a_plan(batch, **({} if jobs is None else {"jobs": jobs}))
    signed = directory.write(plan, files.digests)
    facts = {"plan_id": signed.plan_id, "plan_folder": str(folder), "root": plan.root}
    return a_record(**{**facts, **changes})
