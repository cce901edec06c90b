"""Whatever stands in a URL that somebody gave: no command says it again."""

import json
import re

import pytest
import stamina
import structlog

from cli.helpers import run
from orphangc.adapters.azure import container
from orphangc.app.config.configuration import LogSettings
from orphangc.app.console.verbosity import asked
from orphangc.app.telemetry.logs import audit_log, configure_logs

HIDDEN = "p4ssw0rdOfSomebody"
"""Unlike the suite's other secrets, so that its absence is this test's own."""

URLS = (
    f"https://me:{HIDDEN}@127.0.0.1:9/x",
    f"https://127.0.0.1:9/x?sv=2024&sig={HIDDEN}",
    f"https://127.0.0.1:9/x?X-Amz-Signature={HIDDEN}&X-Amz-Credential={HIDDEN}",
    f"https://127.0.0.1:9/x?X-Goog-Signature={HIDDEN}",
    f"https://127.0.0.1:9/x?AWSAccessKeyId={HIDDEN}&Signature={HIDDEN}",
    f"s3://me:{HIDDEN}@bucket/ck",
    f"abfs://me:{HIDDEN}@account.dfs.core.windows.net/x",
    f"http://127.0.0.1:9/?access_token={HIDDEN}",
    f"http://127.0.0.1:9/x;token={HIDDEN}",
    f"//me:{HIDDEN}@127.0.0.1:9/x",
    f"https://me:a/{HIDDEN}@127.0.0.1:9/x",
    f"s3a://AKIAIOSFODNN7EXAMPLE:a/{HIDDEN}@bucket/ck",
)
COMMANDS = (
    ("plan", "URL"), ("plan", "ROOT", "--flink-rest", "URL"), ("plan", "ROOT", "--state", "URL"),
    ("plan", "ROOT", "--registry", "URL"), ("plan", "ROOT", "--extra-roots", "URL"),
    ("plan", "ROOT", "--alias", "URL=URL"), ("plan", "ROOT", "--inventory", "URL"),
    ("inspect", "URL"), ("doctor", "--config", "CONFIG"), ("discover", "--flink-rest", "URL"),
    ("config", "show", "--config", "CONFIG"), ("config", "show", "--config", "PUSHING"),
    ("doctor", "--config", "PUSHING"), ("plan", "ROOT", "--out", "URL"),
    ("registry", "show", "URL"), ("sweep", "URL"),
    ("undelete", "URL"), ("policy", "--provider", "aws", "--root", "URL"),
    ("policy", "--provider", "azure", "--root", "URL"),
)  # fmt: skip


@pytest.mark.parametrize(
    "url", [*URLS[:2], URLS[-1], *(pytest.param(each, marks=pytest.mark.ci) for each in URLS[2:-1])]
)
def test_no_command_says_a_secret_of_a_url_again(tmp_path, monkeypatch, url: str) -> None:
    """Not in its answer, its one line on stderr, its steps; whatever it does with the URL."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://me:{HIDDEN}@127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", HIDDEN)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", HIDDEN)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(container, "BACKOFF", dict.fromkeys(container.BACKOFF, 0))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ck").mkdir()
    given = tmp_path / "given.yaml"
    given.write_text(json.dumps({"storage_roots": [{"root": "ck", "flink_rest": [url]}]}))
    pushing = tmp_path / "pushing.yaml"
    pushing.write_text(
        json.dumps({"storage_roots": [{"root": "ck"}], "metrics": {"pushgateway": url}})
    )
    files = {"CONFIG": str(given), "PUSHING": str(pushing)}
    for command in COMMANDS:
        words = [part.replace("URL", url).replace("ROOT", "ck") for part in command]
        with stamina.set_testing(testing=True, attempts=2, cap=True):
            ran = run(*(files.get(word, word) for word in words))
        assert HIDDEN not in ran.out + ran.err, command
        assert not re.search("No such option|Missing option|unexpected extra", ran.err), command
    given.unlink()
    pushing.unlink()
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or HIDDEN.encode() not in path.read_bytes(), path


def _fail(url: str) -> None:
    raise ValueError(f"cannot ask {url}")


@pytest.mark.parametrize("log_format", ["console", "json"])
@pytest.mark.parametrize("url", URLS)
def test_no_log_shows_a_secret_of_a_url(capsys, monkeypatch, log_format: str, url: str) -> None:
    """As a value, in a list, in the message of an exception with its traceback."""
    monkeypatch.setattr(asked, "is_verbose", True)
    configure_logs(LogSettings(format=log_format))
    try:
        _fail(url)
    except ValueError:
        structlog.get_logger().exception("asked", url=url, many=[url, {"one": url}])
    shown = capsys.readouterr().err
    structlog.reset_defaults()
    assert "cannot ask" in shown
    assert HIDDEN not in shown


@pytest.mark.parametrize("key", ["etl:v2@prod/1/shared/x", "token=eu/1/shared/x", "sig=1/a"])
def test_the_audit_log_names_the_very_key(capsys, key: str) -> None:
    configure_logs(LogSettings(format="json", audit_log="stderr"))
    with audit_log() as audit:
        assert audit is not None
        audit.one("object.deleted", {"key": key})
    shown = capsys.readouterr().err
    structlog.reset_defaults()
    assert json.loads(shown)["key"] == key
