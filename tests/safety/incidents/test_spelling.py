"""Losses by two spellings of one file: names are compared, never URIs."""

import uuid

import pytest

from cli.helpers import DAY, ENDED, Bed, metadata, run, write
from cli.stories import make_story
from cli.stories_on_s3 import S3Story
from unit.flinkstate.metadata import by_hand as hand


@pytest.mark.answered_by("matching_by_name")
def test_iceberg_4346_s3a_in_the_metadata_and_s3_in_the_listing_are_one_file(
    on_s3: S3Story,
) -> None:
    """Every live file differed as a text, and everything was an orphan (also #2890, #4652)."""
    plan = on_s3.plan()
    assert plan.removals() == on_s3.orphans
    live = [row for key, row in plan.rows.items() if "/shared/" in key and key not in on_s3.orphans]
    assert {row["reason"] for row in live} == {"referenced"}
    assert not any("alias missing" in each for each in plan.document["warnings"])


@pytest.mark.parametrize(
    "spelling",
    ["{path}", "file:{path}", "file://{path}", "file:///{path}", "FILE:{path}", "{folder}//{name}"],
)
@pytest.mark.answered_by("matching_by_name", not_for=("{path}",))
def test_iceberg_2890_every_spelling_of_a_local_path_is_one_file(bed, spelling) -> None:
    """With and without a scheme, with one slash and with three."""
    job = bed.job()
    live, orphan = job.shared(), job.shared()
    spelled = spelling.format(path=live, folder=live.parent, name=live.name)
    job.checkpoint(7, spelled)
    plan = bed.plan()
    assert plan.verdict(live) == ("keep", "referenced")
    assert plan.verdict(orphan) == ("tombstone", "orphan")
    assert plan.job(job)["missing"] == []


@pytest.mark.answered_by("matching_by_name")
def test_lakefs_4658_a_relative_name_protects_wherever_the_file_lies(bed) -> None:
    """After a native savepoint was claimed, relative names resolve to the wrong folder."""
    job = bed.job()
    live, orphan = job.shared(), job.shared()
    entry = hand.utf("000001.sst") + hand.relative_handle(live.name)
    keyed = hand.incremental(hand.listed(entry), meta=hand.bytes_handle())
    subtasks = hand.listed(hand.subtask(4, keyed=keyed))
    data = hand.metadata(4, hand.listed(hand.operator(4, subtasks)))
    write(job.folder / "chk-7" / "_metadata", data, 20 * DAY)
    plan = bed.plan()
    assert plan.verdict(live) == ("keep", "referenced")
    assert plan.verdict(orphan) == ("tombstone", "orphan")
    assert plan.job(job)["missing"] == [f"{job.id}/chk-7/{live.name}"]


@pytest.mark.parametrize("prefix", ["hdfs://namenode:8020/ck", "/mnt/ck", "gs://bucket/ck"])
@pytest.mark.answered_by("matching_by_name")
def test_amoro_877_a_uri_that_no_listed_path_equals_still_protects(undeclared, prefix) -> None:
    """Every file differed from its URI, and all were deleted (also #878, #882, #2890)."""
    job, live = undeclared.job, undeclared.live
    for number in (7, 8):
        names = [f"{prefix}/{job.id}/shared/{path.name}" for path in live]
        job.checkpoint(number, *names)
    plan = undeclared.bed.plan()
    assert {plan.verdict(path) for path in live} == {("keep", "referenced")}
    assert plan.removals() == {
        str(path.relative_to(undeclared.bed.root)) for path in undeclared.orphans
    }


@pytest.mark.answered_by("guard:damaged_latest_root")
def test_amoro_877_a_latest_checkpoint_that_nothing_shows_refuses_the_job(undeclared) -> None:
    """The coverage gate: what a root names and nobody sees may be everything."""
    undeclared.job.checkpoint(9, f"hdfs://namenode/ck/{undeclared.job.id}/shared/{uuid.uuid4()}")
    plan = undeclared.bed.plan()
    assert plan.refusal(undeclared.job) == "damaged_latest_root"
    assert not plan.removals()


def test_ducklake_815_a_trailing_slash_changes_nothing(story) -> None:
    """One slash too many, and every active file was reported as an orphan."""
    expected = story.bed.plan().document["tallies"]
    for spelled in (f"{story.bed.root}/", f"{story.bed.root}//", f"{story.bed.root}/."):
        ran = run("plan", spelled, "--state", f"{story.bed.state}/", *ENDED)
        assert ran.json["tallies"] == expected


def test_ducklake_815_a_trailing_slash_in_an_alias_changes_nothing(bed) -> None:
    """On either side."""
    job = bed.job()
    live = job.shared()
    job.checkpoint(7, f"hdfs://nn/ck/{job.id}/shared/{live.name}")
    for alias in (
        "hdfs://nn/ck={r}",
        "hdfs://nn/ck/={r}",
        "hdfs://nn/ck={r}/",
        "hdfs://nn/ck/={r}/",
    ):
        plan = bed.plan("--alias", alias.format(r=bed.root))
        assert plan.job(job)["live_objects"] == 1
        assert plan.job(job)["missing"] == []


@pytest.mark.answered_by("matching_by_name")
def test_ducklake_1105_two_valid_forms_of_one_url_are_one_file(bed) -> None:
    """Azure has several; what no alias explains is matched by its name."""
    job = bed.job()
    live = [job.shared() for _ in range(2)]
    job.checkpoint(
        7,
        f"abfss://container@account.dfs.core.windows.net/ck/{job.id}/shared/{live[0].name}",
        f"wasbs://container@account.blob.core.windows.net/ck/{job.id}/shared/{live[1].name}",
    )
    job.shared()
    plan = bed.plan()
    assert {plan.verdict(path) for path in live} == {("keep", "referenced")}


def test_clickhouse_113548_a_root_is_never_a_candidate_itself(story) -> None:
    """A key short by one separator made the current version hint an orphan."""
    plan = story.bed.plan()
    for path in story.job.folder.glob("chk-*/_metadata"):
        assert plan.verdict(path) == ("keep", "report_only")
    assert len(plan.document["roots"]) == 2


@pytest.mark.answered_by("limits")
def test_iceberg_10539_a_listing_without_a_single_match_is_told(bed) -> None:
    """The opposite: nothing matches (also Amoro#1981); here it warns, and deletes nothing."""
    job = bed.job()
    for _ in range(3):
        job.shared()
    job.checkpoint(7, f"/elsewhere/{uuid.uuid4()}")
    plan = bed.plan()
    (warning,) = (each for each in plan.document["warnings"] if "checkpoints were read" in each)
    assert "alias" in warning
    assert "max_delete_share" in plan.blocks(job)


@pytest.mark.answered_by("grammar")
def test_trino_15937_files_outside_the_layout_are_kept(story) -> None:
    """Sub-folders and strange places hold what nobody expects (also Hive#4897)."""
    name = str(uuid.uuid4())
    places = [
        story.bed.root / name,
        story.bed.root / "backup" / name,
        story.job.folder / name,
        story.job.folder / "chk-7" / "shared" / name,
        story.job.folder / "other" / "shared" / name,
        story.job.folder / "SHARED" / name,
    ]
    for place in places:
        write(place, b"x", 30 * DAY)
    plan = story.bed.plan()
    assert {plan.verdict(place)[0] for place in places} == {"keep"}


def test_tiflash_7128_a_prefix_never_reaches_its_neighbour(tmp_path) -> None:
    """``dmf_2`` hit ``dmf_27`` (also #7130, Iceberg#12278)."""
    bed = Bed(tmp_path, ENDED)
    bed.root = tmp_path / "dmf_2"
    story = make_story(bed)
    neighbour = Bed(tmp_path, ENDED)
    neighbour.root = tmp_path / "dmf_27"
    other = make_story(neighbour, 2)
    plan = bed.plan()
    assert {row["job_id"] for row in plan.rows.values()} == {story.job.id}
    aliased = bed.plan("--alias", f"{bed.root}=/elsewhere")
    assert {str(neighbour.root) in each for each in aliased.document["roots"]} == {False}
    plan = bed.plan("--extra-roots", neighbour.root, "--pin", f"{bed.root}7/{other.job.id}/shared")
    assert len(plan.removals()) == 2


def test_tiflash_7128_a_prefix_of_a_bucket_never_reaches_its_neighbour(on_s3: S3Story) -> None:
    """S3 knows prefixes, not folders."""
    for key in ("checkpoints7", "checkpoints-old", "checkpoint"):
        on_s3.client.put_object(
            Bucket=on_s3.bucket, Key=f"{key}/{2:032x}/shared/{uuid.uuid4()}", Body=b"x"
        )
    plan = on_s3.plan()
    assert plan.removals() == on_s3.orphans
    assert plan.document["objects_listed"] == 7


@pytest.mark.answered_by("guard:unreadable_root")
def test_a_path_in_the_metadata_that_is_none_refuses(undeclared) -> None:
    """Nobody guesses what a relative path may mean."""
    place = undeclared.job.folder / "chk-9" / "_metadata"
    write(place, metadata(9, ["shared/relative"]), 18 * DAY)
    plan = undeclared.bed.plan()
    assert (plan.ran.code, plan.refusal(undeclared.job)) == (4, "unreadable_root")
