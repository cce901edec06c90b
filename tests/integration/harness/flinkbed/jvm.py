"""Java processes that this test run started, and only those."""

import atexit
import os
import signal
import subprocess
from pathlib import Path

from integration.harness.flinkbed.distribution import java_tool
from integration.harness.flinkbed.waiting import FlinkbedError, without_frames
from support import speed
from support.processes import tied_to_us

# as Flink's own scripts start Java 17
OPENED = (
    "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
    "--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED",
    "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.net=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/java.text=ALL-UNNAMED",
    "--add-opens=java.base/java.time=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED",
)
# quick to start and small rather than quick in the long run
FRUGAL = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-XX:MaxMetaspaceSize=160m",
    "-XX:MaxDirectMemorySize=128m",
    "-XX:ReservedCodeCacheSize=48m",
)
_running: set[subprocess.Popen[bytes]] = set()


class Jvm:
    """One role of the cluster, started as often as a test likes; each start has its own log."""

    def __init__(self, role: str, logs: Path) -> None:
        self.role = role
        self._logs = logs
        self._starts = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self.running else None

    @property
    def starts(self) -> int:
        return self._starts

    def start(
        self,
        main: str,
        *,
        classpath: str,
        conf: Path,
        options: list[str],
        arguments: list[str],
        is_flink: bool = True,
    ) -> None:
        if self.running:
            raise FlinkbedError(f"the {self.role} runs already")
        self._starts += 1
        command = [*tied_to_us(), java_tool("java"), *FRUGAL, *OPENED, *options]
        command += [
            f"-Dlog4j.configurationFile={conf / 'log4j.properties'}",
            "-cp",
            classpath,
            main,
        ]
        command += [*(["--configDir", str(conf)] if is_flink else []), *arguments]
        self._logs.mkdir(parents=True, exist_ok=True)
        with self._log().open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "FLINK_CONF_DIR": str(conf), "MALLOC_ARENA_MAX": "2"},
            )
        _running.add(self._process)

    def kill(self) -> None:
        """End the process with SIGKILL and wait until it is gone."""
        if not self.running:
            raise FlinkbedError(
                f"the {self.role} is not running, so it cannot be killed\n{self.tail()}"
            )
        self.end(signal.SIGKILL)

    def end(self, how: signal.Signals) -> None:
        """Send the signal, wait, and use SIGKILL if that does not help."""
        if self._process is not None:
            _end(self._process, how)
            self._process = None

    def ask_to_end(self) -> None:
        if self._process is not None:
            self._process.terminate()

    def tail(self, lines: int = 40) -> str:
        if not self._starts:
            return f"--- the {self.role} was never started"
        return "\n".join(
            [f"--- end of {self._log().name}", *without_frames(self.log()).splitlines()[-lines:]]
        )

    def log(self) -> str:
        return self._log().read_text(encoding="utf-8", errors="replace")

    def _log(self) -> Path:
        return self._logs / f"{self.role}-{self._starts}.log"


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """End a child of ours.

    Until we wait for it, no other process can be given its id, so the signal cannot go astray.
    """
    process.send_signal(how)
    try:
        process.wait(speed.command())
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(speed.command())
    _running.discard(process)


@atexit.register
def _end_all() -> None:
    for process in list(_running):
        _end(process, signal.SIGKILL)
