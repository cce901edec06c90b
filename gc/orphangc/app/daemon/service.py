"""``serve``: the daemon, from the configuration to its orderly end."""

import os
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import structlog
import uvicorn

from orphangc import __version__
from orphangc.adapters.rows.temporary_folder import TemporaryFolder
from orphangc.app.config.configuration import Configuration, HttpSettings
from orphangc.app.config.load import load_configuration, overriding
from orphangc.app.console.verbosity import asked
from orphangc.app.daemon.scheduler import Children, Daemon
from orphangc.app.status.status_store import StatusStore
from orphangc.app.telemetry.logs import configure_logs
from orphangc.app.telemetry.metrics import Metrics
from orphangc.app.web.http_app import create_app
from orphangc.collect.runs.undisturbed import undisturbed
from orphangc.errors import OrphanGcError, SettingsError

log = structlog.get_logger()

_GOODBYE_SECONDS = 3


def serve(config: Path) -> None:
    """Run the schedules of a configuration until a signal comes, or raise ``SettingsError``."""
    configuration = load_configuration(config)
    configure_logs(configuration.log, takes_others=True, is_daemon=True)
    if names := overriding():
        log.warning("settings.overridden", variables=names)
    with _listening(configuration.http) as listening, _private_copy(config) as copy:
        options = ("--verbose",) if asked.is_verbose else ()
        _Service(configuration, Children(copy, options), listening).run(copy.parent)


@contextmanager
def _private_copy(config: Path) -> Iterator[Path]:
    """Yield a copy of the configuration: runs keep their settings while the daemon lives."""
    with TemporaryFolder() as folder:
        copy = Path(folder) / config.name
        copy.write_bytes(config.read_bytes())
        yield copy


@contextmanager
def _listening(http: HttpSettings) -> Iterator[socket.socket]:
    """Yield a listening socket, so that an address in use is reported at once."""
    try:
        family = socket.getaddrinfo(http.host, http.port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((http.host, http.port), family=family, backlog=128)
    except OSError as err:
        raise SettingsError(f"cannot listen at {http.host}, port {http.port}: {err}") from err
    with listening:
        yield listening


class _Service:
    def __init__(
        self, configuration: Configuration, children: Children, listening: socket.socket
    ) -> None:
        self._listening = listening
        self._ending, self._end = os.pipe()
        os.set_blocking(self._end, False)  # Python writes to it in whatever thread a signal comes
        self._is_over = False
        self._failure: BaseException | None = None
        metrics = Metrics(configuration.storage_roots, __version__)
        self._status = StatusStore(configuration, metrics)
        self._daemon = Daemon(self._status, children)
        self._server = uvicorn.Server(
            uvicorn.Config(
                create_app(self._status, metrics.registry, children.page_part, configuration.http),
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=_GOODBYE_SECONDS,
            )
        )

    def run(self, folder: Path) -> None:
        """Serve until a signal comes, and end at once at a second; raise if the server failed."""
        before = {
            number: signal.signal(number, lambda n, f: self._signalled(n, f, folder))
            for number in (signal.SIGTERM, signal.SIGINT)
        }
        woken = signal.set_wakeup_fd(self._end, warn_on_full_buffer=False)
        try:
            self._serve()
        finally:
            signal.set_wakeup_fd(woken)
            for number, handler in before.items():
                signal.signal(number, handler)
        if self._failure is not None:
            raise OrphanGcError(f"the HTTP server failed: {self._failure}")

    def _serve(self) -> None:
        http = threading.Thread(target=self._answer, name="http", daemon=True)
        http.start()
        self._daemon.start()
        host, port = self._listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        log.info("daemon.serving", address=f"http://{shown}:{port}", version=__version__)
        os.read(self._ending, 1)
        self._status.is_ending = True  # first: a reader of the log finds it so
        log.info("daemon.ending")
        undisturbed(lambda: self._stop(http), stop=lambda: None, name="ending")
        log.info("daemon.ended")

    def _stop(self, http: threading.Thread) -> None:
        self._daemon.stop()
        self._server.should_exit = True
        http.join()

    def _answer(self) -> None:
        try:
            self._server.run(sockets=[self._listening])
        except BaseException as err:  # noqa: BLE001 - raised in the main thread
            self._failure = err
        finally:
            os.write(self._end, b"!")

    def _signalled(self, number: int, _: FrameType | None, folder: Path) -> None:
        if self._is_over:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(128 + number)  # children read the end of their stdin
        self._is_over = True
