"""Progress elsewhere than on a terminal: a line now and then, and none of a short run."""

import io
import sys

from structlog.testing import capture_logs

from orphangc.app.console.progress import LoggedProgress, shown_progress


class Clock:
    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def test_a_long_phase_says_how_far_it_is_every_half_minute() -> None:
    """Done, rate, and what is left of an estimated total; a line for many calls."""
    clock = Clock()
    told = LoggedProgress(clock)
    with capture_logs() as logs:
        for second in range(100):
            clock.seconds = 1000.0 + second
            told("listing", 500 * second, 100_000 if second > 40 else None)
    assert [each["done"] for each in logs] == [15_000, 30_000, 45_000]
    assert {each["per_second"] for each in logs} == {500}
    assert logs[0].keys() == {"event", "log_level", "phase", "done", "per_second"}
    assert (logs[1]["about_total"], logs[1]["about_seconds_left"]) == (100_000, 140)


def test_a_short_run_says_nothing() -> None:
    clock = Clock()
    told = LoggedProgress(clock)
    with capture_logs() as logs:
        for number in range(20):
            clock.seconds += 20
            told(f"phase {number}", 7)
    assert logs == []


def test_a_phase_that_stands_still_shows_no_remaining_time() -> None:
    """Nothing is divided by nothing."""
    clock = Clock()
    told = LoggedProgress(clock)
    with capture_logs() as logs:
        told("listing", 5, 10)
        clock.seconds += 31
        told("listing", 5, 10)
    assert (logs[0]["per_second"], logs[0]["about_seconds_left"]) == (0, None)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_rate_and_time_to_go(monkeypatch) -> None:
    """For a listing whose total is an estimate."""
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("orphangc.app.console.progress._SHORT_SECONDS", 0)
    with shown_progress() as told:
        for done in range(0, 100_000, 1000):
            told("listing", done, None if done < 5000 else 200_000)
    shown = screen.getvalue()
    assert "listing" in shown
    assert "/s" in shown
    assert "left" in shown


def test_a_short_phase_has_no_line_on_a_terminal(monkeypatch) -> None:
    """Most commands take less than a second."""
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", screen)
    with shown_progress() as told:
        for done in range(0, 100_000, 1000):
            told("listing", done, 100_000)
    assert "listing" not in screen.getvalue()
