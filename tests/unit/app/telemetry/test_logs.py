"""Log lines: their form, what every one of them names, and what none of them holds."""

import io
import json
import logging
import sys
import threading

import pytest
import structlog

from flinkstate.text.redaction import redacted
from orphangc.app.config.configuration import LogSettings
from orphangc.app.console.verbosity import asked
from orphangc.app.telemetry.logs import always_shown, configure_logs, run_named

SECRET = "hunter2"
EVENTS = ["engine.chosen", "job.blocked", "stamina.retry_scheduled", "lock.kept"]
WITHOUT_RETRIES = [each for each in EVENTS if not each.startswith("stamina.")]


@pytest.fixture(autouse=True)
def own_logs():
    """Leave logging as it was."""
    before = logging.getLogger().handlers[:], logging.getLogger().level
    yield
    structlog.reset_defaults()
    logging.getLogger().handlers[:], level = before
    logging.getLogger().setLevel(level)


def lines(capsys) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_every_line_of_a_run_names_it_in_threads_too(capsys) -> None:
    """They do not inherit context variables."""
    configure_logs(LogSettings(format="json"))
    log = structlog.get_logger()
    with run_named(run_id="r", root="s3://b"):
        thread = threading.Thread(target=lambda: log.info("here"))
        thread.start()
        thread.join()
    log.info("elsewhere")
    here, elsewhere = lines(capsys)
    assert (here["run_id"], here["root"]) == ("r", "s3://b")
    assert "run_id" not in elsewhere


def test_the_level_hides_events_but_not_what_must_be_on_record(capsys) -> None:
    """Deletions, and how a run ended."""
    configure_logs(LogSettings(format="json", level="warning"))
    structlog.get_logger().info("progress")
    always_shown().info("object.deleted", key="k")
    assert [line["event"] for line in lines(capsys)] == ["object.deleted"]


def test_a_traceback_is_data_and_holds_no_values(capsys, monkeypatch) -> None:
    """A local variable may be a password."""
    monkeypatch.setattr(asked, "is_verbose", True)
    configure_logs(LogSettings(format="json"))
    with pytest.raises(RuntimeError) as raised:
        _fail(SECRET)
    structlog.get_logger().debug("crashed", exc_info=raised.value)
    (line,) = lines(capsys)
    assert line["exception"][0]["exc_type"] == "RuntimeError"
    assert "hunter2" not in json.dumps(line)


def _fail(password: str) -> None:
    raise RuntimeError(f"at http://me:{password}@host/x")


def test_credentials_in_urls_are_dropped_wherever_they_stand(capsys) -> None:
    configure_logs(LogSettings(format="json"))
    url = "https://me:hunter2@host:1/x?y=a@b"
    structlog.get_logger().info(f"at {url}", url=url, many=[url, {"one": url}])
    (line,) = lines(capsys)
    assert "hunter2" not in json.dumps(line)
    assert line["url"] == "https://host:1/x?y=a@b"
    assert redacted("mail me@host, s3://bucket/a@b") == "mail me@host, s3://bucket/a@b"


def test_libraries_log_in_the_same_form(capsys) -> None:
    """Their warnings; what they merely report is left out."""
    configure_logs(LogSettings(format="json"), takes_others=True)
    logging.getLogger("some.library").warning("see http://me:hunter2@host for %s", "more")
    logging.getLogger("some.library").info("nothing")
    (line,) = lines(capsys)
    assert (line["event"], line["level"]) == ("see http://host for more", "warning")


def test_a_command_shows_one_error_and_not_what_a_library_says_before_it(
    capsys, monkeypatch
) -> None:
    """Azure's client takes twenty lines, in no form, where credentials are missing."""
    monkeypatch.setattr(logging, "lastResort", logging.lastResort)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    configure_logs()
    logging.getLogger("some.library").warning("see http://me:hunter2@host\nfor more")
    assert capsys.readouterr().err == ""


def test_a_format_for_people_can_be_asked_for(capsys) -> None:
    configure_logs(LogSettings(format="console"))
    structlog.get_logger().info("plan.written", objects=3)
    said = capsys.readouterr().err
    assert "plan.written" in said
    assert not said.startswith("{")


def test_lines_for_people_hold_no_credentials_either(capsys, monkeypatch) -> None:
    """Nor do tracebacks, or the values of variables."""
    monkeypatch.setattr(asked, "is_verbose", True)
    configure_logs(LogSettings(format="console"))
    structlog.get_logger().info("asked", url="http://me:hunter2@host")
    with pytest.raises(RuntimeError) as raised:
        _fail(SECRET)
    structlog.get_logger().debug("crashed", exc_info=raised.value)
    said = capsys.readouterr().err
    assert "RuntimeError: at http://host/x" in said
    assert "hunter2" not in said


@pytest.mark.parametrize(("level", "shown"), [("info", []), ("debug", EVENTS[2:3])])
def test_single_attempts_are_single_steps(capsys, level, shown) -> None:
    """A silent service is one problem, however often it was asked."""
    configure_logs(LogSettings(format="json", level=level))
    structlog.get_logger().warning("stamina.retry_scheduled", caused_by="_PassingError()")
    assert [line["event"] for line in lines(capsys)] == shown


def test_a_password_may_hold_an_at_sign():
    assert redacted("see http://gc:pa@ss@host:8081/x") == "see http://host:8081/x"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("is_verbose", "is_daemon", "shown"),
    [(False, False, ["lock.kept"]), (True, False, EVENTS), (False, True, WITHOUT_RETRIES)],
)
def test_a_person_sees_only_what_the_results_do_not_say(
    monkeypatch, *, is_verbose: bool, is_daemon: bool, shown: list[str]
) -> None:
    """All of it with ``-v``, and of a daemon, whose logs are its only results."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(asked, "is_verbose", is_verbose)
    configure_logs(LogSettings(), is_daemon=is_daemon)
    log = structlog.get_logger()
    for event, method in zip(EVENTS, ("info", "warning", "warning", "warning"), strict=True):
        getattr(log, method)(event)
    always_shown().info("run.finished")
    said = screen.getvalue()
    assert [each for each in EVENTS if each in said] == shown
    assert ("run.finished" in said) is (len(shown) > 1)


def test_quiet_hides_it_elsewhere_too(capsys, monkeypatch) -> None:
    """Warnings that no result repeats stay."""
    monkeypatch.setattr(asked, "is_quiet", True)
    configure_logs(LogSettings(format="json"))
    structlog.get_logger().warning("lock.kept")
    structlog.get_logger().warning("job.blocked")
    always_shown().info("run.finished")
    assert [line["event"] for line in lines(capsys)] == ["lock.kept"]
