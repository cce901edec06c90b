"""``demo``: the whole way, as a person sees it who has just installed orphangc."""

from cli.helpers import contents, run
from cli.test_terminal import on_terminal, too_long


def test_the_demo_deletes_orphans_and_keeps_every_checkpoint_whole(tmp_path) -> None:
    """On a terminal, in a folder that is kept: the folder bears out what was printed."""
    code, shown = on_terminal("demo", "--keep", tmp_path / "demo")
    assert code == 0, shown
    assert "9 checkpoints are whole, 6 orphans are gone" in shown
    assert too_long(shown) == []
    left = contents(tmp_path / "demo" / "checkpoints")
    assert sum(name.endswith("/_metadata") for name in left) == 9
    assert len(list((tmp_path / "demo").glob("plan-*/outcome.json"))) == 2


def test_the_demo_leaves_nothing_behind_unless_asked_to(tmp_path, monkeypatch) -> None:
    """A temporary folder, and no state in the user's home."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = contents(tmp_path)
    assert run("demo").code == 0
    assert contents(tmp_path) == before


def test_the_demo_is_not_made_over_something_else(tmp_path) -> None:
    """A folder that holds anything is not the demo's."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "checkpoints").write_text("mine")
    before = contents(tmp_path)
    for place in (tmp_path / "mine", tmp_path / "mine" / "checkpoints"):
        ran = run("demo", "--keep", place)
        assert (ran.code, len(ran.complaints), contents(tmp_path)) == (2, 1, before)
