"""Names that somebody chose to do harm: inside ``_metadata``, in a bucket, in plans and outcomes.

A name is compared with other names and shown to people; it never becomes a path that is opened.
"""

import json
import re
import struct
import uuid

import pytest

from cli.helpers import DAY, contents, metadata, outcomes, run, write
from cli.stories import bed, story
from cli.stories_on_s3 import JOB_ID, on_s3, s3_server
from orphangc.core.documents.plan import Plan
from unit.flinkstate.metadata import by_hand as hand

__all__ = ["bed", "on_s3", "s3_server", "story"]

OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

REFERENCES = {
    "up": "{root}/{job}/shared/../../../outside/{name}",
    "up from nowhere": "../../outside/{name}",
    "absolute": "/etc/passwd",
    "this machine": "file:///etc/{name}",
    "another bucket": "s3://another-bucket/{name}",
    "another host": "http://127.0.0.1:9/{name}",
    "no scheme at all": "a:b:c://{name}",
    "NUL": "{root}/{job}/shared/\0{name}",
    "a line end": "{root}/{job}/shared/\n{name}",
    "a terminal escape": "{root}/{job}/shared/\x1b[2J\x1b]0;owned\x07{name}",
    "a direction mark": "{root}/{job}/shared/\u202e{name}",
    "half a character": "{root}/{job}/shared/\ud800{name}",
    "markup": "{root}/{job}/shared/[red]<script>{name}",
    "nothing": "",
    "as long as Java can": "/etc/" + "x" * 64_000,
}


def java_text(text: str) -> bytes:
    """Return a text as Java's ``writeUTF``: NUL as two bytes, halves of characters as they are."""
    raw = text.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
    return struct.pack(">H", len(raw)) + raw


def checkpoint(number: int, paths: list[str]) -> bytes:
    """Return a ``_metadata`` with these paths, whatever is in them."""
    handles = [
        hand.utf(f"{n}.sst") + b"\x02" + hand.i8(5) + java_text(p) for n, p in enumerate(paths)
    ]
    keyed = hand.incremental(hand.listed(*handles), meta=hand.bytes_handle())
    operators = hand.listed(hand.operator(4, hand.listed(hand.subtask(4, keyed=keyed))))
    return hand.metadata(4, operators, checkpoint_id=number)


@pytest.mark.parametrize("kind", REFERENCES)
def test_a_hostile_reference_keeps_files_and_opens_none(story, kind) -> None:
    """Whatever ``_metadata`` names: live files stay, nothing outside changes, one line tells."""
    outside = write(story.bed.folder / "outside" / story.orphans[0].name, b"outside", DAY)
    places = {"root": story.bed.root, "job": story.job.id, "name": story.orphans[0].name}
    path = REFERENCES[kind].format(**places)
    live = [str(each) for each in story.live]
    data = checkpoint(8, [*live[1:], path])
    write(story.job.folder / "chk-8" / "_metadata", data, 19 * DAY)
    before = contents(story.bed.folder)
    for output in ("table", "json"):
        plan = story.bed.plan("--output", output)
        assert plan.ran.code in {0, 4}, plan.ran.err
        assert not OBEYED.search(plan.ran.out + plan.ran.err)
        if plan.ran.code == 0 and plan.path.exists():
            ran = story.bed.sweep(plan, "--delete")
            assert ran.code in {0, 4}, ran.err
            assert not OBEYED.search(ran.out + ran.err)
    after = contents(story.bed.folder)
    gone = {name for name in before if name not in after}
    orphans = {str(each.relative_to(story.bed.folder)) for each in story.orphans}
    assert gone <= orphans
    assert story.orphans[0].exists() or story.orphans[0].name not in path
    assert outside.read_bytes() == b"outside"
    changed = {name.partition("/")[0] for name in after if after[name] != before.get(name)}
    assert changed <= {"state", "plan-1", "plan-2", "checkpoints"}
    assert not {name for name in after if name.startswith("checkpoints/")} - set(before)


HOSTILE_KEYS = (
    f"{JOB_ID}/shared/..%2f{uuid.UUID(int=1)}",
    f"{JOB_ID}/shared/{uuid.UUID(int=6)}\t",
    f"{JOB_ID}/shared/%2e%2e%2f{uuid.UUID(int=7)}",
    f"{JOB_ID}/shared/\u202e{uuid.UUID(int=8)}",
    f"{JOB_ID}/shared/{uuid.UUID(int=9)} ",
    f"{JOB_ID}/shared/{str(uuid.UUID(int=10)).upper().replace('0', 'A')}",
    f"{JOB_ID}/..shared/{uuid.UUID(int=11)}",
    f"{JOB_ID}/shared/<Key>{uuid.UUID(int=12)}<Key>",
)


def test_hostile_keys_in_a_bucket_are_kept_and_what_they_look_like_is_judged_alone(on_s3) -> None:
    """A key is its bytes: no part of it is decoded, trimmed or made the same as another one.

    Keys with ``//`` and ``..`` need a server that takes them: ``test_least_privilege``.
    """
    for key in HOSTILE_KEYS:
        on_s3.put(key, b"hostile")
    before = on_s3.contents()
    for _ in range(2):
        plan = on_s3.plan("--output", "table")
        assert not OBEYED.search(plan.ran.out + plan.ran.err)
        assert on_s3.sweep(plan, "--delete").code == 0
    after = on_s3.contents()
    assert set(before) - set(after) == on_s3.orphans
    assert set(HOSTILE_KEYS) <= set(after)


# --- plans and what stands beside them


def test_a_plan_cannot_name_a_verdict_file_elsewhere(story) -> None:
    """Its identity can be computed by anybody: the name must be one."""
    plan = story.bed.plan()
    document = plan.document
    (name, digest) = next(iter(document["verdict_files"].items()))
    (plan.path / "verdicts" / name).rename(story.bed.folder / "stolen.parquet")
    document["verdict_files"] = {"../../stolen.parquet": digest}
    signed = Plan.model_validate(document).signed()
    (plan.path / "plan.json").write_text(signed.model_dump_json())
    before = contents(story.bed.folder)
    ran = story.bed.sweep(plan, "--delete")
    assert (ran.code, len(ran.complaints)) == (4, 1)
    assert contents(story.bed.folder) == before


@pytest.mark.parametrize("run_id", ["/../../../escaped", "x" * 300, "a\nb", "..", "[" * 10])
def test_an_outcome_cannot_name_a_file_elsewhere(story, run_id) -> None:
    """What an earlier sweep left is set aside by its id, if that is one."""
    plan, _ = story.bed.cycle(delete=False)
    (plan.path / "outcomes-").mkdir()
    (plan.path / "outcome.json").write_text(json.dumps({"run_id": run_id}))
    before = {name for name in contents(story.bed.folder) if not name.startswith("plan-")}
    assert story.bed.sweep(plan).code == 0
    after = {name for name in contents(story.bed.folder) if not name.startswith(("plan-", "state"))}
    assert after <= before
    assert outcomes(plan)
    assert list(plan.path.glob("outcome-unknown-*.json"))


def test_a_hostile_name_in_an_error_is_not_obeyed_by_the_terminal(story) -> None:
    """One line on stderr, whatever the folder is called that cannot be read."""
    place = story.job.folder / "chk-9\x1b[2J\u202e" / "_metadata"
    write(place, metadata(9, [])[:-3], 20 * DAY)
    for command in (("plan", story.bed.root), ("inspect", place.parent), ("plan", place / "x")):
        ran = run(*command)
        assert not OBEYED.search(ran.out + ran.err), command
