"""A real ZooKeeper on loopback: the one that Flink's own jars hold."""

import os
import signal
import socket
from pathlib import Path
from typing import Self

from integration.harness.flinkbed.distribution import jars
from integration.harness.flinkbed.jvm import Jvm
from integration.harness.flinkbed.settings import LOG4J
from integration.harness.flinkbed.waiting import wait_until
from support import speed
from support.ports import free_ports
from support.processes import pause

MAIN = "org.apache.flink.shaded.zookeeper3.org.apache.zookeeper.server.ZooKeeperServerMain"
HEAP_MB = 64


class ZooKeeper:
    """One server without a quorum; as a context manager it starts and ends."""

    def __init__(self, version: str, work_dir: Path) -> None:
        self._version = version
        self._work = work_dir.resolve()
        self._jvm = Jvm("zookeeper", self._work / "log")
        self._port = free_ports()[0]
        self.address = f"127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        data = self._work / "data"
        data.mkdir(parents=True)
        conf = self._work / "zoo.cfg"
        conf.write_text(
            f"dataDir={data}\nclientPort={self._port}\nclientPortAddress=127.0.0.1\n"
            f"tickTime={round(speed.scaled(500))}\nmaxClientCnxns=0\nadmin.enableServer=false\n"
        )
        (self._work / "log4j.properties").write_text(LOG4J)
        self._jvm.start(
            MAIN,
            classpath=os.pathsep.join(map(str, jars(self._version))),
            conf=self._work,
            options=[f"-Xmx{HEAP_MB}m", "-Dzookeeper.jmx.log4j.disable=true"],
            arguments=[str(conf)],
            is_flink=False,
        )
        wait_until("ZooKeeper to listen", self._listens)
        return self

    def __exit__(self, *_: object) -> None:
        self._jvm.end(signal.SIGTERM)

    def pause(self) -> None:
        """Let it answer nobody until ``go_on``."""
        pause(self._pid)

    def go_on(self) -> None:
        """Let it answer again."""
        os.kill(self._pid, signal.SIGCONT)

    @property
    def _pid(self) -> int:
        pid = self._jvm.pid
        assert pid is not None, self._jvm.tail()
        return pid

    def _listens(self) -> bool:
        assert self._jvm.running, self._jvm.tail()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0
