"""``policy``: the least that runs must be allowed, from options or from the file they run by."""

import json

import pytest

from cli.helpers import run

JOB = f"{1:032x}"


def allowed(document, action: str) -> set[str]:
    return {
        resource.removeprefix("arn:aws:s3:::")
        for each in document["Statement"]
        if each["Effect"] == "Allow" and f"s3:{action}" in each["Action"]
        for resource in each["Resource"]
    }


def test_the_document_is_all_that_stands_on_stdout() -> None:
    """So that it can be given to the provider's own tool; what it cannot say is on stderr."""
    command = ("policy", "--provider", "aws", "--root", "s3://bkt/cp", "--state", "s3://bkt/state")
    ran = run(*command)
    assert ran.code == 0
    of_a_job = ("shared/*", "chk-*", "taskowned/*", "dstl/*", "op_*")
    files = {f"bkt/cp/{'?' * 32}/{each}" for each in of_a_job}
    log = f"bkt/cp/*/{'?' * 32}/dstl/*"
    assert allowed(ran.json, "DeleteObject") == {*files, log, "bkt/state/*"}
    flat = run(*command, "--scope", "shared").json
    assert allowed(flat, "DeleteObject") == {f"bkt/cp/{'?' * 32}/shared/*", "bkt/state/*"}
    notes = [line for line in ran.err.splitlines() if line.startswith("note: ")]
    assert len(notes) == len(ran.err.splitlines()) > 2


def test_a_file_is_taken_as_it_runs(tmp_path) -> None:
    """Each storage root by its own mode, with the places that it names; others are pointed out."""
    config = tmp_path / "orphangc.yaml"
    roots = [
        {"root": "s3a://bkt/one", "state": "s3://bkt/state", "mode": "delete", "scope": ["shared"]},
        {"root": "s3://bkt/two", "state": str(tmp_path / "state"), "work": "s3://bkt/work"},
        {"root": "gs://other/three"},
    ]
    roots[1]["engine"] = "spark"
    config.write_text(json.dumps({"storage_roots": roots, "plans": str(tmp_path / "plans")}))
    ran = run("policy", "--provider", "aws", "--config", config)
    assert ran.code == 0, ran.err
    orphans = f"bkt/one/{'?' * 32}/shared/*"
    assert allowed(ran.json, "DeleteObject") == {orphans, "bkt/state/*", "bkt/work/*"}
    assert f"note: {tmp_path}/state is not of provider aws" in ran.err
    assert "note: gs://other/ is not of provider aws" in ran.err
    ran = run("policy", "--provider", "aws", "--config", config, "--mode", "report")
    assert orphans not in allowed(ran.json, "DeleteObject")


def test_an_expiry_is_covered_where_it_is_asked_for(tmp_path) -> None:
    """By the file of each storage root, or by an option; the file alone says it of a file."""
    command = ("policy", "--provider", "aws")
    folder = f"bkt/one/{'?' * 32}/chk-*"
    metadata, marker = f"{folder}/_metadata", f"{folder}/orphangc-expired-*"
    ran = run(*command, "--root", "s3://bkt/one", "--expire")
    both = allowed(ran.json, "DeleteObject") & allowed(ran.json, "PutObject")
    assert both >= {metadata, marker}
    roots = [
        {"root": "s3://bkt/one", "mode": "delete", "expire": {"keep_last": 1}},
        {"root": "s3://bkt/two", "mode": "delete"},
    ]
    config = tmp_path / "orphangc.yaml"
    config.write_text(json.dumps({"storage_roots": roots, "plans": str(tmp_path / "plans")}))
    ran = run(*command, "--config", config)
    assert ran.code == 0, ran.err
    assert allowed(ran.json, "PutObject") == {metadata, marker}
    assert metadata in allowed(ran.json, "DeleteObject")
    assert run(*command, "--config", config, "--expire").code == 2


def test_the_folder_around_a_job_directory_may_be_searched_too() -> None:
    """A run searches it: the jobs beside may have claimed its checkpoints."""
    command = ("policy", "--provider", "aws", "--root", f"s3://bkt/cp/{JOB}", "--scope", "shared")
    ran = run(*command)
    assert "bkt/*metadata*" in allowed(ran.json, "GetObject")
    ran = run(*command, "--search", "places")
    assert ran.code == 0, ran.err
    assert "bkt/cp/*metadata*" in allowed(ran.json, "GetObject")
    assert allowed(ran.json, "DeleteObject") == {f"bkt/cp/{JOB}/shared/*"}
    assert "same state location" in ran.err


def test_other_providers_speak_their_own_language() -> None:
    """And a table is for people."""
    ran = run("policy", "--provider", "gcs", "--root", "gs://b/cp", "--mode", "report")
    assert ran.json["buckets"]["b"]["version"] == 3
    ran = run("policy", "--provider", "azure", "--root", "az://c/cp", "--mode", "report")
    assert ran.json["assignment"]["conditionVersion"] == "2.0"
    ran = run("policy", "--provider", "ceph", "--root", "s3://bkt/cp", "--mode", "delete")
    assert "bkt" in allowed(ran.json, "DeleteObject")
    ran = run("policy", "--provider", "aws", "--root", "s3://bkt/c\x1b[2Jp", "--output", "table")
    assert (ran.code, "\x1b" in ran.out, "_metadata files" in ran.out) == (0, False, True)


def test_what_is_no_question_is_refused_in_one_line(tmp_path) -> None:
    """Exit 2: no root, two sources, another provider's root, a bucket without prefixes."""
    absent = tmp_path / "absent.yaml"
    for options in (
        ("aws",),
        ("aws", "--root", "s3://bkt/cp", "--config", absent),
        ("aws", "--config", absent, "--state", "s3://bkt/state"),
        ("aws", "--root", "gs://b/cp"),
        ("aws", "--root", str(tmp_path)),
        ("aws", "--root", "s3://b--use1-az4--x-s3/cp"),
        ("gcs", "--root", "gs://b/c{p", "--undelete"),
        ("azure", "--root", "az://c/it's"),
    ):
        ran = run("policy", "--provider", *options)
        assert (ran.code, len(ran.complaints), ran.out) == (2, 1, ""), (options, ran.err)


def test_a_policy_too_large_says_so(tmp_path) -> None:
    """A managed policy has a length; a person must split it."""
    roots = [{"root": f"s3://bkt/{n:0200}", "mode": "delete"} for n in range(40)]
    config = tmp_path / "orphangc.yaml"
    config.write_text(json.dumps({"storage_roots": roots, "plans": str(tmp_path / "plans")}))
    ran = run("policy", "--provider", "aws", "--config", config)
    assert "more than the 6144 of a managed policy" in ran.err


def test_what_no_policy_covers_is_said(tmp_path) -> None:
    root = {"root": "s3://bkt/cp", "extra_roots": ["s3://bkt/sp"], "mode": "delete"}
    root["expire"] = {"keep_last": 2, "savepoints": ["s3://bkt/sp"]}
    config = tmp_path / "orphangc.yaml"
    config.write_text(json.dumps({"storage_roots": [root], "plans": str(tmp_path / "plans")}))
    ran = run("policy", "--provider", "aws", "--config", config)
    assert "savepoints below s3://bkt/sp may expire" in ran.err


@pytest.mark.parametrize(
    ("own", "place"),
    [("work", "s3://bkt/cp"), ("work", "s3://bkt"), ("state", "s3://bkt/other/state")],
)
def test_no_place_of_its_own_may_lie_where_checkpoints_lie(tmp_path, own, place) -> None:
    """A policy that lets it write and delete there would let it delete any checkpoint."""
    roots = [{"root": "s3://bkt/cp", "engine": "spark", own: place}, {"root": "s3://bkt/other"}]
    config = tmp_path / "orphangc.yaml"
    config.write_text(json.dumps({"storage_roots": roots, "plans": str(tmp_path / "plans")}))
    ran = run("policy", "--provider", "aws", "--config", config)
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert "overlaps with storage root" in ran.err
