"""The figures of every exploration, below the tests' own summary."""

import pytest

FIGURES = "model figures"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was explored, and how large it was; workers hand it over with their reports."""
    told = [
        text
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, text in getattr(report, "user_properties", ())
        if name == FIGURES and getattr(report, "when", "call") == "call"
    ]
    if told:
        terminalreporter.section("tests/safety/model_checking: states explored")
        for text in sorted(told):
            terminalreporter.write_line(text)


@pytest.fixture
def tell(record_property):
    """Return what takes down one exploration for the summary."""

    def told(name: str, explored: object) -> None:
        record_property(FIGURES, f"{name:64} {explored}")

    return told
