"""Sources of Flink's HA metadata: one Kubernetes namespace, or ZooKeeper below one path.

They only list; they neither watch nor write.
"""

import importlib
import logging
from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Any

from orphangc.adapters.kubernetes.namespace_listing import NamespaceListing
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.kubernetes_json import HA_SELECTOR, kubernetes_facts
from orphangc.core.cluster.zookeeper_paths import zookeeper_facts
from orphangc.errors import RegistryUnavailableError, SettingsError

_DEFAULT_PATH = "/flink"
"""Source: Flink 1.11-2.3, ``high-availability.zookeeper.path.root``."""
_MAX_NODES = 200_000
_MAX_DEPTH = 16

_silent = logging.getLogger(f"{__name__}.client")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False  # the raised error holds all that matters


class ZooKeeperHa:
    """One ensemble, below one path."""

    def __init__(self, address: str, *, timeout: timedelta) -> None:
        """Parse the address; connect later.

        Args:
            address: Servers and path: ``host:port,host:port/path``.
            timeout: Time limit of one whole observation.

        Raises:
            SettingsError: The extra ``zookeeper`` is not installed.
        """
        hosts, slash, path = address.partition("/")
        self._hosts = hosts
        self._path = f"/{path.strip('/')}" if slash else _DEFAULT_PATH
        self._timeout = timeout.total_seconds()
        self.uri = f"zookeeper://{hosts}{self._path}"
        try:
            self._client: Any = importlib.import_module("kazoo.client")
            self._errors: Any = importlib.import_module("kazoo.exceptions")
            self._timeouts: Any = importlib.import_module("kazoo.handlers.threading")
        except ImportError as err:
            raise SettingsError(
                "the ZooKeeper client is not installed: pip install 'orphangc[zookeeper]'"
            ) from err

    def observe(self) -> HaFacts:
        """Return the facts of the nodes, all or nothing.

        Raises:
            RegistryUnavailableError: No answer in time, no permission, or the path is absent: a
                mistyped path would show no running job.
        """
        client = self._client.KazooClient(
            hosts=self._hosts,
            timeout=max(self._timeout, 1.0),
            logger=_silent,
            read_only=False,  # a partitioned server would answer with outdated nodes
        )
        deadline = monotonic() + self._timeout
        try:
            client.start(timeout=self._timeout)
            paths = self._below(client, lambda: max(deadline - monotonic(), 0.001))
        except self._errors.NoNodeError as err:
            raise self._problem(f"there is no node {self._path}: mistyped?") from err
        except (self._errors.KazooException, self._timeouts.KazooTimeoutError, OSError) as err:
            reason = str(err) or type(err).__name__
            raise self._problem(" ".join(reason.split())[:200]) from err
        finally:
            _end(client)
        return zookeeper_facts(self.uri, self._hosts, paths)

    def _below(self, client: Any, left: Callable[[], float]) -> list[str]:
        client.sync_async(self._path).get(timeout=left())
        found: list[str] = []
        level = [self._path]
        for depth in range(_MAX_DEPTH):
            asked = [(path, client.get_children_async(path)) for path in level]
            following: list[str] = []
            for path, answer in asked:
                try:
                    names = answer.get(timeout=left())
                except self._errors.NoNodeError:
                    if depth == 0:
                        raise
                    continue  # removed since its parent was listed
                following += [f"{path.rstrip('/')}/{name}" for name in names]
            found += following
            level = following
            if len(found) > _MAX_NODES:
                break
            if not level:
                return found
        raise self._problem(f"{self._path} holds too much to be Flink's only: name its own path")

    def _problem(self, reason: str) -> RegistryUnavailableError:
        return RegistryUnavailableError(
            f"ZooKeeper at {self.uri}: {reason}; who is alive is unknown"
        )


def _end(client: Any) -> None:
    try:
        client.stop()
        client.close()
    except Exception:  # noqa: BLE001 - the answer is already there
        _silent.debug("the session did not end in order")


class KubernetesHa(NamespaceListing):
    """HA metadata of one namespace."""

    def observe(self) -> HaFacts:
        """Return the facts of the namespace, or raise ``RegistryUnavailableError``."""
        try:
            maps, resources = self.config_map_keys(HA_SELECTOR), self.operated()
        finally:
            self.close()
        return kubernetes_facts(self.namespace, maps, resources)
