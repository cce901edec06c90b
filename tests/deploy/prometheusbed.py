"""A real Prometheus on loopback, with the shipped rules in a hurry."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import yaml

from deploy.fixtures import MONITORING
from integration.harness.flinkbed.waiting import wait_until
from support import speed
from support.ports import free_ports
from support.processes import finished


def hurried_rules(jsonnet: Path, file: Path, config: Mapping[str, Any] | None = None) -> Path:
    """Render the mixin as shipped, but waiting for nothing before an alert fires."""
    changed = json.dumps(dict(config or {}))
    program = (
        f"((import '{MONITORING}/mixin/mixin.libsonnet') + {{_config+:: {changed} + {{"
        " alerts: std.mapWithKey(function(name, alert) alert { 'for': '0s' }, super.alerts) }})"
        ".prometheusAlerts"
    )
    done = finished([jsonnet, "-e", program], check=True)
    file.write_text(done.stdout)
    return file


class Prometheus:
    """A server that scrapes and evaluates every second of the reference machine."""

    def __init__(
        self, program: Path, folder: Path, *, jobs: Mapping[str, Sequence[str]], rules: Path
    ) -> None:
        """Choose a port and write the configuration."""
        port, _ = free_ports()
        self.url = f"http://127.0.0.1:{port}"
        self._log = folder / "prometheus.log"
        config = folder / "prometheus.yaml"
        scrapes = [
            {"job_name": job, "honor_labels": True, "static_configs": [{"targets": list(targets)}]}
            for job, targets in jobs.items()
        ]
        second = f"{round(speed.scaled(1000))}ms"
        names = ("scrape_interval", "scrape_timeout", "evaluation_interval")
        every = dict.fromkeys(names, second)
        content = {"global": every, "rule_files": [str(rules)], "scrape_configs": scrapes}
        config.write_text(yaml.safe_dump(content))
        self._command = [
            str(program),
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until("Prometheus", self._is_ready)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def firing(self) -> set[tuple[str, str]]:
        alerts = self._get("/api/v1/alerts")["alerts"]
        return {
            (each["labels"]["alertname"], each["labels"].get("root", ""))
            for each in alerts
            if each["state"] == "firing"
        }

    def value_of(self, expr: str) -> float | None:
        result = self._get("/api/v1/query", query=expr)["result"]
        return float(result[0]["value"][1]) if result else None

    def _get(self, path: str, **parameters: str) -> Any:
        answer = httpx.get(f"{self.url}{path}", params=parameters, timeout=speed.answer())
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()
        return httpx.get(f"{self.url}/-/ready", timeout=speed.answer()).status_code == 200

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(speed.command())
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
