"""What ``undelete`` shows of names that anyone could write into a bucket."""

from orphangc.app.commands.operate.undelete import undeletion_lines


def test_no_name_styles_the_screen_or_breaks_a_line() -> None:
    """Brackets are no markup, and a terminal escape is spelled out."""
    document = {"counts": {"restored": 1}, "warning": "[red]job\x1b[2J/chk-1\n has a tombstone"}
    counts, warning = map(str, undeletion_lines(document))
    assert counts == "1 brought back"
    assert warning == r"[red]job\x1b[2J/chk-1\n has a tombstone"


def test_without_a_warning_there_are_counts_alone() -> None:
    document = {"counts": {"restored": 2, "gone": 1}}
    assert [str(each) for each in undeletion_lines(document)] == ["2 brought back", "1 gone"]
