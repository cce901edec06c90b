"""The ways to run Spark, each as a function that runs commands of orphangc."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cli.helpers import Ran
from contracts.servers.processes import await_http, start
from integration.harness.sparkbed.pythons import (
    bare_python,
    package_zip,
    packed_environment,
    spark_home,
)
from support import speed
from support.ports import free_port
from support.processes import finished, until

ELSEWHERE = ("cluster", "connect")
"""Beside ``local``, in this Python: on executors that share a folder, and behind a server."""
REPOSITORY = Path(__file__).parents[4]

Runner = Callable[..., Ran]

_SMALL = {
    "spark.orphangc.rows": "40",  # several parts even of a small storage
    "spark.orphangc.listed": "60",
    "spark.orphangc.streams": "3",
    "spark.orphangc.large": "1",  # executors read each checkpoint
    "spark.sql.shuffle.partitions": "3",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_SLICED = {"spark.orphangc.broadcast": "60"}
"""Live set and tombstones do not fit into an executor, so the listing is divided among slices."""


def environment(folder: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that uses Spark."""
    configuration = folder / "conf"
    configuration.mkdir()
    lines = [f"{name} {value}\n" for name, value in {**_SMALL, **settings}.items()]
    (configuration / "spark-defaults.conf").write_text("".join(lines))
    kept = {name: value for name, value in os.environ.items() if not _is_of_spark(name)}
    tests = str(REPOSITORY / "tests")
    own = {"SPARK_CONF_DIR": configuration, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": tests}
    own |= {"SPARK_WORKER_DIR": folder / "work", "SPARK_HOME": spark_home()}
    return kept | {name: str(value) for name, value in own.items()}


def _is_of_spark(name: str) -> bool:
    return name.startswith(("SPARK_", "PYSPARK_", "PYTHONPATH"))


@contextmanager
def running(mode: str, folder: Path) -> Iterator[Runner]:
    """Yield what runs a command with Spark; one session serves all commands.

    ``local`` runs in this Python; the executors of ``cluster`` and the server of ``connect``
    have one that lacks orphangc.
    """
    more: tuple[object, ...] = ()
    with ExitStack() as stack:
        match mode:
            case "local":
                own = environment(folder, {}) | {"SPARK_MASTER": "local[2]"}
            case "cluster":
                python = str(bare_python(folder / "python"))
                own = environment(folder, _SLICED)
                own |= {"SPARK_MASTER": "local-cluster[2,1,1024]", "PYSPARK_PYTHON": python}
                more = ("--work", folder / "work-folder")
            case _:
                url = stack.enter_context(_connect_server(folder))
                own = environment(folder / "client", {}) | {"SPARK_REMOTE": url}
        talk = stack.enter_context(_talking(own))
        yield lambda *arguments: talk(*arguments, *more)
        left = [path for path in (folder / "work-folder").rglob("*") if path.is_file()]
        assert not left, left


@contextmanager
def _talking(own: Mapping[str, str]) -> Iterator[Runner]:
    """Yield what runs commands in a process that keeps the session."""
    command = [sys.executable, str(Path(__file__).with_name("talker.py"))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=own, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        asking, answering = child.stdin, child.stdout

        def run(*arguments: object) -> Ran:
            asking.write(json.dumps([str(each) for each in arguments]) + "\n")
            asking.flush()
            answer = answering.readline()
            assert answer, f"the process that keeps the session ended with {child.wait(30)}"
            return Ran(**json.loads(answer))

        try:
            yield run
        finally:
            asking.close()
            try:
                child.wait(speed.command())
            except subprocess.TimeoutExpired:
                child.kill()


@contextmanager
def _connect_server(folder: Path) -> Iterator[str]:
    port = free_port()
    (folder / "server").mkdir()
    (folder / "client").mkdir()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.master": "local[2]",
    }
    own = environment(folder / "server", settings)
    own |= {"PYSPARK_PYTHON": str(bare_python(folder / "python"))}
    with ExitStack() as stack:
        start(
            stack,
            *(spark_home() / "bin" / "spark-submit", "--class"),
            "org.apache.spark.sql.connect.service.SparkConnectServer",
            "spark-internal",
            env=own,
            cwd=folder,
        )
        yield f"sc://127.0.0.1:{port}"


@dataclass(frozen=True, slots=True)
class Standalone:
    """A standalone cluster on loopback."""

    master: str  # its URL
    # its workers; each starts executors, and each of these a Python
    workers: tuple[subprocess.Popen, ...]

    def executors(self) -> list[int]:
        mine = {each.pid for each in self.workers}
        found = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
        return [pid for pid in found if _parent_of(pid) in mine]


def _parent_of(pid: int) -> int:
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return 0
    return 0 if state == "Z" else int(parent)  # one of the shell that started a worker has ended


@contextmanager
def standalone(folder: Path, count: int = 2) -> Iterator[Standalone]:
    """Yield a master with some workers of one core, started by PySpark's own script."""
    port, page = free_port(), free_port()
    folder.mkdir()
    own = environment(folder, {})
    classes = "org.apache.spark.deploy"
    command = [spark_home() / "bin" / "spark-class"]
    at = ("--host", "127.0.0.1")
    master = f"spark://127.0.0.1:{port}"
    ports = ("--port", port, "--webui-port", page)
    room = ("--cores", 1, "--memory", "1g", "--work-dir", folder / "workers")
    with ExitStack() as stack:
        first = start(stack, *command, f"{classes}.master.Master", *at, *ports, env=own, cwd=folder)
        await_http(f"http://127.0.0.1:{page}/json/", first)
        workers = [
            start(
                stack,
                *(*command, f"{classes}.worker.Worker", "--host", host, "--webui-port", 0),
                *(*room, master),
                env=own | {"SPARK_LOCAL_IP": host},
                cwd=folder,
            )
            # Spark speculates on another host only
            for host in (f"127.0.0.{number}" for number in range(1, count + 1))
        ]
        until(lambda: _alive_workers(f"http://127.0.0.1:{page}/json/") == len(workers))
        yield Standalone(master, tuple(workers))


def _alive_workers(url: str) -> int:
    with urllib.request.urlopen(url, timeout=speed.answer()) as answer:
        return int(json.load(answer)["aliveworkers"])


def submit(
    packing: str, folder: Path, *arguments: object, settings: Mapping[str, str] | None = None
) -> Ran:
    """Run a command by ``spark-submit`` with the package as a zip, or in a packed environment."""
    own = environment(folder, settings or {})
    if packing == "zip":
        own["PYSPARK_PYTHON"] = str(bare_python(folder / "python"))
        options = ["--master", "local[2]", "--py-files", package_zip(folder)]
    else:
        archive = packed_environment(folder)
        own |= {
            "PYSPARK_PYTHON": "./environment/bin/python",
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        options = ["--master", "local-cluster[1,2,1024]", "--archives", f"{archive}#environment"]
    program = REPOSITORY / "deploy" / "spark" / "main.py"
    command = [spark_home() / "bin" / "spark-submit", *options, program, *arguments]
    done = finished(
        command, env=own, cwd=folder, timeout=2 * speed.command(), stdin=subprocess.DEVNULL
    )
    return Ran(done.returncode, done.stdout, done.stderr)
