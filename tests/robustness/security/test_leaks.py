"""The look for secrets finds them: one that never did would never be missed."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.leaks import S3_KEYS, SECRETS, leaks_below

pytestmark = pytest.mark.ci

pytest_plugins = ["pytester"]


@pytest.fixture
def aside(tmp_path_factory):
    """A folder whose files are gone when this process looks through its own."""
    folder = tmp_path_factory.mktemp("leaks")
    yield folder
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("name", ["plan.json", "run.jsonl", "report.html", "daemon.log", "none"])
def test_a_secret_in_a_file_is_found(aside: Path, name: str, secret: str) -> None:
    (aside / name).write_text(f"cannot list https://me:{secret}@host/")
    assert list(leaks_below(aside)) == [f"{aside / name}: {secret}"]


def test_a_secret_among_the_errors_of_outcomes_is_found(aside: Path) -> None:
    """They are compressed: their bytes do not show it."""
    table = pa.table({"key": ["x"], "error": [f"refused: {S3_KEYS[1]}"]})
    pq.write_table(table, aside / "outcomes.parquet", compression="zstd")
    assert len(list(leaks_below(aside))) == 1


def test_a_file_without_one_and_an_input_are_passed_over(aside: Path) -> None:
    """A password is given in a configuration file; that is no leak."""
    (aside / "orphangc.yaml").write_text(f"flink_rest: http://me:{SECRETS[-1]}@host")
    (aside / "plan.json").write_text("{}")
    (aside / "outcomes.parquet").write_bytes(b"damaged")
    assert not list(leaks_below(aside))


@pytest.mark.parametrize("processes", ["-n0", "-n1"])
def test_a_session_that_leaves_a_secret_fails(pytester, processes: str) -> None:
    """Although every test of it passed; in one process, and where the last word is another's."""
    pytester.makeconftest(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from support.leaks import Leaks\n"
        "def pytest_configure(config): config.pluginmanager.register(Leaks(config), 'leaks')\n"
    )
    written = "'orphangc-tests-secret' '-access-key'"
    pytester.makepyfile(f"def test_it(tmp_path): (tmp_path / 'run.log').write_text({written})")
    base = pytester.path / "temporary"
    ran = pytester.runpytest_subprocess(processes, "-p", "no:randomly", f"--basetemp={base}")
    ran.assert_outcomes(passed=1)
    assert ran.ret == 1
    ran.stdout.fnmatch_lines(["*secrets in what the suite wrote*", "*run.log: orphangc-tests-*"])
    for path in (*base.rglob("*.log"), pytester.path / "stdout"):
        path.unlink()
