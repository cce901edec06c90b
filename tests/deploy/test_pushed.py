"""A CronJob's metrics in a real Pushgateway: clean, grouped as documented, and to be got rid of."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from deploy.fixtures import MONITORING
from deploy.records import SICK, a_run
from integration.harness.flinkbed.waiting import wait_until
from orphangc.app.config.configuration import MetricsSettings, ScheduledRoot
from orphangc.app.telemetry.metrics import push
from orphangc.core.documents.run_record import RunRecord, RunResult, totals_after
from support import speed
from support.ports import free_ports
from support.processes import finished

pytestmark = [pytest.mark.prometheus, pytest.mark.ci]

# what base64 spells with both of its odd characters
ROOT = "s3://bucket/~~~???/checkpoints>>"


@pytest.fixture
def gateway(pushgateway: Path, tmp_path: Path) -> Iterator[str]:
    """A Pushgateway on loopback; its URL."""
    port, _ = free_ports()
    url = f"http://127.0.0.1:{port}"
    command = [str(pushgateway), f"--web.listen-address=127.0.0.1:{port}"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until("the Pushgateway", lambda: httpx.get(f"{url}/-/ready").status_code == 200)
        yield url
    finally:
        process.terminate()
        process.wait(speed.command())


def a_record(**found: object) -> RunRecord:
    record = a_run(RunResult.SOME_DELETES_FAILED, **found).model_copy(update={"root": ROOT})
    return record.model_copy(update={"totals": totals_after(record.totals, record)})


def pushed_to(gateway: str) -> str:
    lines = httpx.get(f"{gateway}/metrics").text.splitlines(keepends=True)
    return "".join(line for line in lines if "orphangc_" in line)


def test_what_is_pushed_is_grouped_by_job_and_root(gateway, promtool):
    """No pod is named; Prometheus' own checker is content; a first push tells of a refusal."""
    settings = MetricsSettings(pushgateway=gateway)
    push(settings, ScheduledRoot(root=ROOT, schedule="6h"), a_record(**SICK))

    exposed = pushed_to(gateway)
    for line in exposed.splitlines():
        if not line.startswith("#"):
            assert 'instance=""' in line
            assert 'job="orphangc"' in line
            assert f'root="{ROOT}"' in line
    assert re.search(r'orphangc_refused_jobs\{guard="unreadable_root".*\} 3\n', exposed)
    assert re.search(r"orphangc_run_interval_seconds\{.*\} 21600\n", exposed)
    checked = finished([promtool, "check", "metrics"], input=exposed)
    assert checked.returncode == 0, checked.stderr


def test_the_documented_command_deletes_the_group(gateway):
    """The README's lines, as they stand there."""
    push(MetricsSettings(pushgateway=gateway), ScheduledRoot(root=ROOT), a_record())
    assert pushed_to(gateway)

    readme = (MONITORING / "README.md").read_text()
    commands = re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)
    assert len(commands) == 1
    subprocess.run(
        ["bash", "-euc", commands[0]],
        check=True,
        env={**os.environ, "ROOT": ROOT, "PUSHGATEWAY": gateway},
        timeout=speed.command(),
    )
    assert not pushed_to(gateway)


def test_the_documented_change_of_thresholds_renders(jsonnet, tmp_path):
    """The README's mixin, as it stands there."""
    readme = (MONITORING / "README.md").read_text()
    (program,) = re.findall(r"```jsonnet\n(.*?)```", readme, re.DOTALL)
    file = tmp_path / "my-rules.jsonnet"
    file.write_text(program.replace("mixin/mixin.libsonnet", f"{MONITORING}/mixin/mixin.libsonnet"))
    done = finished([jsonnet, "--string", file], check=True)
    assert 'cluster=\\"prod\\"' in done.stdout
    assert "https://wiki.example.org/orphangc#orphangcrefused" in done.stdout
