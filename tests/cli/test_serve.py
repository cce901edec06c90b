"""``serve``: the daemon as a process, its runs as processes of their own, over loopback."""

import ctypes
import json
import os
import re
import signal
import socket
import sys
from collections import Counter
from pathlib import Path

import pytest

from cli.helpers import Bed
from cli.scheduled import Configured, events, settings_of, started, swept
from cli.stories import Story, make_story
from support import speed
from support.processes import finished, is_running, pause, until

ROUTINE = {"run_at_start": True, "schedule": "24h"}


def serving(config: Configured, name: str = "err", stall: Path | None = None):
    """Start a daemon that names each deleted object."""
    config.content.setdefault("log", {})["audit_log"] = "stderr"
    return started("serve", "--config", config.path, err=config.folder / name, stall=stall)


def deleted(story: Story) -> Counter[str]:
    """Return how often each key stands as deleted in any outcome of the root's history."""
    logs = story.bed.folder.glob("err*")
    lines = [line for log in logs for line in events(log.read_text(), "object.deleted")]
    return Counter(line["key"] for line in lines)


def is_locked(story: Story) -> bool:
    return any(b"token" in path.read_bytes() for path in story.bed.state.glob("*/lock/*.json"))


def twice_run(config: Configured) -> Configured:
    for _ in range(2):
        assert config.run().code == 0
    return config


def test_a_daemon_reports_quarantines_and_deletes_by_its_schedule(story, tmp_path) -> None:
    """It answers all the while, ends in order, and the next one counts on from there.

    What the file says later changes nothing: half of a file might be run.
    """
    config, stall = Configured.of(story, schedule="2s"), tmp_path / "stall"
    with serving(config, stall=stall) as daemon:
        assert daemon.get("/healthz")[0] == 200
        (config.folder / "orphangc.yaml").write_text("storage_roots: [")
        until(stall.exists)
        assert daemon.metric("orphangc_swept_objects_total", action="delete", outcome="done") == 0
        stall.unlink()
        until(lambda: daemon.metric("orphangc_swept_objects_total", action="delete") == 2)
        assert not any(path.exists() for path in story.orphans)
        assert all(path.exists() for path in story.live)
        assert daemon.get("/readyz")[0] == 200
        assert daemon.metric("orphangc_run_interval_seconds", root=str(story.bed.root)) == 2
        modes = [each["effective_mode"] for each in config.records()]
        assert modes[:3] == ["report", "delete", "delete"]
        assert daemon.end() == 0
        assert daemon.children() == []
        log = daemon.log
    assert not is_locked(story)
    assert [len(events(log, name)) for name in ("daemon.ending", "daemon.ended")] == [1, 1]
    runs = config.records()[-1]["totals"]["runs"]["plan/done"]
    with serving(Configured.of(story, run_at_start=False), "err2") as daemon:
        until(lambda: daemon.get("/readyz")[0] == 200)
        assert daemon.metric("orphangc_runs_total", phase="plan", result="done") == runs
        assert daemon.metric("orphangc_swept_objects_total", action="delete") == 2
        # the last run may have been broken off, and plans of the first ones are kept no more
        shown = (f"/ui/runs/{each['run_id']}/checkpoints" for each in config.records())
        (checkpoint, *_) = re.findall(
            r'href="(/ui/runs/[^"]+\?uri=[^"]+)"', "".join(daemon.get(path)[1] for path in shown)
        )
        assert "Bytes by operator and state" in daemon.get(checkpoint)[1]
        assert daemon.end() == 0


def test_sigterm_ends_the_daemon_and_its_run_in_order(story, tmp_path) -> None:
    """The batch is finished, the lock released, the record written, missed runs reported."""
    config = twice_run(Configured.of(story, schedule="1s"))
    stall = tmp_path / "stall"
    with serving(config, stall=stall) as daemon:
        until(stall.exists)
        (child,) = daemon.children()
        missed = {"phase": "plan", "result": "missed"}
        until(lambda: (daemon.metric("orphangc_runs_total", **missed) or 0) > 0)
        assert daemon.get("/healthz")[0] == 200
        daemon.process.terminate()
        until(lambda: "daemon.ending" in daemon.log)
        assert daemon.get("/readyz")[0] == 503
        stall.unlink()
        assert daemon.process.wait(timeout=speed.command()) == 0
        assert not is_running(child)
        log = daemon.log
    assert not is_locked(story)
    record = config.records()[-1]
    assert (record["result"], record["exit_code"]) == ("interrupted", 143)
    assert len(events(log, "run.started")) == 1, "a run began while the daemon was ending"
    assert "Traceback" not in log
    assert Configured.of(story).run().code == 0
    assert not any(path.exists() for path in story.orphans)


@pytest.mark.ci
def test_of_two_daemons_and_a_run_one_works(story, tmp_path) -> None:
    """The others say who holds the lock; nothing is done twice."""
    config = twice_run(Configured.of(story, **ROUTINE))
    stall = tmp_path / "stall"
    with serving(config, stall=stall) as first:
        until(stall.exists)
        (holder,) = first.children()
        ran = config.run()
        assert (ran.code, f"process {holder} on " in ran.json[0]["error"]) == (11, True)
        with serving(config, "err2") as second:
            locked = {"phase": "plan", "result": "locked"}
            until(lambda: second.metric("orphangc_runs_total", **locked) == 1)
            newest = json.loads(second.get("/runs")[1])[0]
            assert newest["result"] == "locked"
            assert f"process {holder} on " in newest["error"]
            assert len(config.records()) == 2
            stall.unlink()
            until(lambda: len(config.records()) == 3)
            assert second.end() == 0
        assert first.end() == 0
    assert swept(config.records()[-1]) == {"delete/done": 2}
    assert set(deleted(story).values()) == {1}
    assert not any(path.exists() for path in story.orphans)


@pytest.mark.ci
@pytest.mark.usefixtures("kills")
def test_after_a_kill_the_next_one_takes_over(story, tmp_path) -> None:
    """Daemon and run are killed in the middle of a deletion; nothing is lost, or done twice."""
    config = twice_run(Configured.of(story, **ROUTINE))
    stall = tmp_path / "stall"
    with serving(config, stall=stall) as daemon:
        until(stall.exists)
        (child,) = daemon.children()
        os.kill(child, signal.SIGKILL)
        daemon.process.kill()
        daemon.process.wait()
    assert is_locked(story), "the dead run cannot have given it back"
    with serving(config, "err2") as other:
        until(lambda: other.metric("orphangc_swept_objects_total", action="delete") == 2)
        assert other.end() == 0
    assert not any(path.exists() for path in story.orphans)
    assert all(path.exists() for path in story.live)
    keys = {str(path.relative_to(story.bed.root)) for path in story.orphans}
    assert deleted(story) == dict.fromkeys(keys, 1)
    assert not list(story.bed.state.glob("*/halted.json"))


@pytest.mark.usefixtures("kills")
def test_a_run_does_not_outlive_its_daemon(story, tmp_path) -> None:
    """It sees that the daemon was killed, and ends as if it had been stopped."""
    config = twice_run(Configured.of(story, **ROUTINE))
    stall = tmp_path / "stall"
    with serving(config, stall=stall) as daemon:
        until(stall.exists)
        (child,) = daemon.children()
        daemon.process.kill()
        daemon.process.wait()
        until(lambda: events(daemon.log, "daemon.gone"))
        stall.unlink()
        until(lambda: not is_running(child))
    assert config.records()[-1]["result"] == "interrupted"
    assert not is_locked(story)


@pytest.mark.ci
@pytest.mark.usefixtures("kills")
def test_a_run_that_is_killed_is_a_record_and_stops_nothing(story, tmp_path) -> None:
    """As by the kernel, for its memory: the daemon writes the record in its place."""
    other = Bed(tmp_path / "other")
    (tmp_path / "other").mkdir()
    roots = (settings_of(story), settings_of(make_story(other, 2)))
    config = twice_run(Configured.of(story, *roots, **ROUTINE))
    stall = tmp_path / "stall"
    with serving(config, stall=stall) as daemon:
        until(stall.exists)
        (child,) = daemon.children()
        os.kill(child, signal.SIGKILL)
        stall.unlink()
        root = str(story.bed.root)
        killed = {"result": "interrupted", "root": root}
        until(lambda: daemon.metric("orphangc_runs_total", **killed) == 1)
        until(stall.exists)  # the other root's run has come as far
        stall.unlink()
        done = {"root": str(other.root), "action": "delete", "outcome": "done"}
        until(lambda: daemon.metric("orphangc_swept_objects_total", **done) == 2)
        assert daemon.end() == 0
    record = config.records()[-1]
    assert (record["result"], record["exit_code"]) == ("interrupted", 137)
    assert "SIGKILL" in record["error"]
    assert record["totals"]["runs"]["plan/interrupted"] == 1


@pytest.mark.ci
def test_a_second_signal_ends_the_daemon_at_once(story, tmp_path, monkeypatch) -> None:
    """Its run ends in order all the same, and nothing private is left in the temporary folder."""
    config = twice_run(Configured.of(story, **ROUTINE))
    stall, temporary = tmp_path / "stall", tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with serving(config, stall=stall) as daemon:
        until(stall.exists)
        (child,) = daemon.children()
        (copy,) = temporary.glob("orphangc-*/orphangc.yaml")
        assert copy.parent.stat().st_mode & 0o777 == 0o700
        pause(child)  # the run does not end before the second signal
        daemon.process.send_signal(signal.SIGINT)
        until(lambda: "daemon.ending" in daemon.log)
        assert daemon.end(signal.SIGINT) == 130
        assert not copy.parent.exists()
        stall.unlink()
        os.kill(child, signal.SIGCONT)
        until(lambda: not is_running(child))
    assert not is_locked(story)


@pytest.mark.ci
def test_a_signal_that_another_thread_is_given_ends_the_daemon(story) -> None:
    """The kernel may choose any; the main thread waits, and is not woken by it."""
    with serving(Configured.of(story, run_at_start=False)) as daemon:
        until(lambda: daemon.get("/readyz")[0] == 200)
        give_to_another_thread(daemon.process.pid, signal.SIGTERM)
        assert daemon.process.wait(timeout=speed.command()) == 0


@pytest.mark.ci
def test_a_second_signal_that_another_thread_is_given_ends_it_at_once(story, tmp_path) -> None:
    """The main thread waits for the run meanwhile."""
    stall = tmp_path / "stall"
    with serving(twice_run(Configured.of(story, **ROUTINE)), stall=stall) as daemon:
        until(stall.exists)
        (child,) = daemon.children()
        pause(child)
        daemon.process.terminate()
        until(lambda: "daemon.ending" in daemon.log)
        give_to_another_thread(daemon.process.pid, signal.SIGTERM)
        assert daemon.process.wait(timeout=speed.command()) == 143
        stall.unlink()
        os.kill(child, signal.SIGCONT)
        until(lambda: not is_running(child))


def give_to_another_thread(process: int, number: signal.Signals) -> None:
    threads = {int(each.name) for each in Path("/proc", str(process), "task").iterdir()}
    assert ctypes.CDLL(None).tgkill(process, min(threads - {process}), int(number)) == 0


@pytest.mark.ci
def test_a_state_that_cannot_be_read_is_no_reason_to_stop(story) -> None:
    """The daemon lives, says that it is not ready and why, and is as soon as it can be."""
    story.bed.state.write_bytes(b"in the way")
    config = Configured.of(story, schedule="3s")
    with serving(config) as daemon:
        unreachable = {"phase": "plan", "result": "unreachable"}
        until(lambda: (daemon.metric("orphangc_runs_total", **unreachable) or 0) > 0)
        assert daemon.get("/healthz")[0] == 200
        status, said = daemon.get("/readyz")
        assert (status, str(story.bed.root) in said) == (503, True)
        story.bed.state.unlink()
        until(lambda: daemon.get("/readyz")[0] == 200)
        assert daemon.end() == 0


def test_an_address_in_use_is_said_at_once(story) -> None:
    """Exit 2, in one line, before anything runs."""
    with socket.create_server(("127.0.0.1", 0)) as used:
        wrong = Configured.of(story, http={"port": used.getsockname()[1]})
        with serving(wrong) as daemon:
            assert daemon.process.wait(timeout=speed.command()) == 2
            assert [line for line in daemon.log.splitlines() if "cannot listen" in line]
    assert not story.bed.state.exists()


def test_the_daemon_itself_does_not_load_what_only_runs_need() -> None:
    """Arrow, NumPy and the S3 client would double its memory permanently."""
    code = "import sys, orphangc.app.daemon.service; print(*sys.modules)"
    loaded = finished([sys.executable, "-c", code], check=True)
    heavy = {"pyarrow", "numpy", "pandas", "pyspark", "botocore", "fsspec", "s3fs"}
    assert heavy & set(loaded.stdout.split()) == set()
