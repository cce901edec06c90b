"""The Spark session: an existing one, else a new one on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from flinkstate.text.redaction import one_line
from orphangc import errors
from orphangc.errors import OrphanGcError, SettingsError
from orphangc.hidden_modules import show

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEEDS_JAVA = "engine spark needs Java 17 or newer: set JAVA_HOME"
_JAVA = 17
_DEFAULT_OPTIONS = "spark.driver.defaultJavaOptions"
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of Java, which handles no object here: to compile it well takes longer than its work."""
_DAEMON = "orphangc.app.wiring.worker_daemon"
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_VERSION = re.compile(r'version "(\d+)')
_OURS = re.compile(r"(?:flinkstate|orphangc)\.errors\.(\w+): ([^\n]*)")


@contextmanager
def opened_session(*, is_verbose: bool = False) -> Iterator[SparkSession]:
    """Yield the active session, that of ``SPARK_REMOTE``, or a new one that ends afterwards.

    Args:
        is_verbose: Whether Spark's logs appear on stderr.

    Raises:
        SettingsError: PySpark or Java is missing, or Spark does not start.
    """
    show("pandas")  # PySpark imports it
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional extra
    except ImportError as err:
        raise SettingsError("engine spark needs PySpark: pip install 'orphangc[spark]'") from err
    with translated("start Spark", SettingsError):
        active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    is_elsewhere = bool({"SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"} & os.environ.keys())
    session = _found() if is_elsewhere else _started(is_verbose=is_verbose)
    try:
        yield session
    finally:
        with translated("stop Spark", OrphanGcError):
            session.stop()


def _found() -> SparkSession:
    """Return the session of ``spark-submit`` or of a Spark Connect server."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional extra

    with translated("connect to Spark", SettingsError):
        return SparkSession.builder.appName("orphangc").getOrCreate()


def _started(*, is_verbose: bool) -> SparkSession:
    """Start a session, on this machine unless ``SPARK_MASTER`` names a master."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional extra

    check_java()
    master = os.environ.get("SPARK_MASTER", "local[*]")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("orphangc").master(master)
    for name, value in _defaults(master).items():
        builder = builder.config(name, value)
    logs = as_file(files("orphangc.adapters.spark") / "log4j2.properties")
    with translated("start Spark", SettingsError), logs as path:
        if is_verbose:
            with _redirected(2):
                return builder.getOrCreate()
        java = f"{_JAVA_OPTIONS} -Dlog4j2.configurationFile={path.absolute().as_uri()}"
        builder = builder.config(_DEFAULT_OPTIONS, java)
        with tempfile.TemporaryFile() as said, _explained(said), _redirected(said.fileno()):
            return builder.getOrCreate()


def _defaults(master: str) -> dict[str, str]:
    """Return settings that differ from Spark's defaults: a local Spark serves this machine only."""
    settings = {
        _DEFAULT_OPTIONS: _JAVA_OPTIONS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        if os.environ["PYSPARK_PYTHON"] == sys.executable:
            settings["spark.python.daemon.module"] = _DAEMON
    return settings


def check_java() -> None:
    """Raise ``SettingsError`` unless Spark will find a Java that it can use."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        raise SettingsError(_NEEDS_JAVA)
    try:
        said = subprocess.run(  # noqa: S603 - the Java that Spark is going to run
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as err:
        raise SettingsError(f"{_NEEDS_JAVA} ({java} does not run)") from err
    version = _VERSION.search(said.stderr + said.stdout)
    if version is None or int(version[1]) < _JAVA:
        raise SettingsError(f"{_NEEDS_JAVA} ({java} is {version[1] if version else 'another'})")


@contextmanager
def _redirected(target: int) -> Iterator[None]:
    """Redirect the stdout of processes started now to ``target``: stdout is for data."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    try:
        os.dup2(target, 1)
        os.dup2(target, 2)
        yield
    finally:
        for descriptor, copy in enumerate(kept, start=1):
            os.dup2(copy, descriptor)
            os.close(copy)


@contextmanager
def _explained(said: IO[bytes]) -> Iterator[None]:
    try:
        yield
    except Exception:
        said.seek(0)
        sys.stderr.write(said.read().decode(errors="replace"))
        raise


@contextmanager
def translated(action: str, kind: type[OrphanGcError] = OrphanGcError) -> Iterator[None]:
    """Translate Spark's errors into one line; raise our errors of executors with their own type."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an optional extra

    try:
        yield
    except OrphanGcError:
        raise
    except Exception as err:
        package = type(err).__module__.partition(".")[0]
        if not isinstance(err, PySparkException) and package not in {"py4j", "grpc", "pyspark"}:
            raise
        ours = _OURS.search(str(err))
        if ours is not None and isinstance(known := getattr(errors, ours[1], None), type):
            raise _again(known, ours[2]) from err
        raise kind(one_line(f"cannot {action}: {_cause(err)}")) from err


def _again(kind: type, message: str) -> OrphanGcError:
    """Return an executor's error; the base class if its class needs more than a message."""
    try:
        made = kind(message)
    except TypeError:
        made = None
    return made if isinstance(made, OrphanGcError) else OrphanGcError(message)


_SAYS_WHY = re.compile(r"(?:Caused by: [\w.$]+|[\w.]+(?:Error|Exception)): (?=\S)")


def _cause(err: Exception) -> str:
    lines = [line.strip() for line in str(err).splitlines() if line.strip()]
    causes = [line for line in lines if _SAYS_WHY.match(line)]
    return causes[-1] if causes else next(iter(lines), type(err).__name__)


def is_on_this_machine(session: SparkSession) -> bool:
    """Return whether executors share this machine's files, by the master that Spark reports."""
    master = session.conf.get("spark.master", "") or ""
    remote = os.environ.get("SPARK_REMOTE", "local")
    is_here = remote.startswith("local") or urlsplit(remote).hostname in _LOOPBACK
    return is_here and master.startswith("local")
