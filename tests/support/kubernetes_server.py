"""A loopback stand-in for the Kubernetes API: labels, pages, versions; or it misbehaves."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from support.flink_resources import RELEASES, admitted, made_maps

SAVED = Path(__file__).parent / "fixtures_kubernetes"
_CORE = re.compile(r"/api/v1/namespaces/(?P<ns>[^/]+)/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?")
_GROUP = re.compile(
    r"/apis/(?P<group>[^/]+)/(?P<version>[^/]+)/namespaces/(?P<ns>[^/]+)/(?P<plural>[^/]+)"
    r"(?:/(?P<name>[^/]+))?"
)
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)")
CRDS = ("flinkdeployments", "flinksessionjobs", "flinkstatesnapshots", "flinkbluegreendeployments")

Fault = int | Callable[[BaseHTTPRequestHandler], None]


def saved(name: str) -> Any:
    return json.loads((SAVED / f"{name}.json").read_text())


def a_config_map(name: str, *keys: str, cluster: str = "orders", **labels: str) -> dict[str, Any]:
    """Return a ConfigMap as Flink's HA services make it."""
    given = {
        "app": cluster,
        "configmap-type": "high-availability",
        "type": "flink-native-kubernetes",
        **labels,
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": given},
        "data": dict.fromkeys(keys, "rO0ABXNyAA=="),
    }


def retained(*ids: int) -> list[str]:
    return [f"checkpointID-{each:019d}" for each in ids]


@dataclass
class KubernetesServer:
    """Serves ``objects`` by plural and name in one namespace; ``faults`` by plural misbehave.

    A fault is a status, or a function that answers itself. ``denied`` plurals answer 403,
    ``undefined`` ones are not shown by discovery and answer 404; ``newer`` ones only another
    version of the operator's group has. ``asked`` counts requests by method and plural,
    ``discovered`` counts questions about the API itself.
    """

    namespace: str = "flink"
    objects: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)
    undefined: set[str] = field(default_factory=set)
    newer: set[str] = field(default_factory=set)
    further: tuple[str, ...] = ()  # kinds of a later operator that discovery shows
    faults: dict[str, Fault] = field(default_factory=dict)
    page: int = 2
    # API groups that discovery shows, with their versions
    groups: dict[str, list[str]] = field(
        default_factory=lambda: {"apps": ["v1"], "flink.apache.org": ["v1beta1"]}
    )
    discovery: int | None = None  # status of every answer about the API itself, if it is none
    discovered: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    expires_after: int | None = None
    stopped: Event = field(default_factory=Event)
    _version: int = 100
    _guard: Lock = field(default_factory=Lock)
    _snapshots: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, document: dict[str, Any]) -> None:
        plural = document["kind"].lower() + "s"
        stored = deepcopy(document)
        stored["metadata"]["namespace"] = self.namespace
        stored["metadata"]["resourceVersion"] = self._next()
        stored["metadata"].setdefault("uid", f"uid-{self._version}")
        self.objects.setdefault(plural, {})[stored["metadata"]["name"]] = stored

    def operate(self, document: dict[str, Any], release: str = RELEASES[-1]) -> None:
        """Store a resource as the API server with the operator's definitions does, or refuse it.

        The operator makes a configuration for a cluster that runs, unless one is there.
        """
        self.add(admitted(document, release))
        for name, text in made_maps(document).items():
            if name not in self.objects.get("configmaps", {}):
                made = a_config_map(name, **{"configmap-type": "flink-config"})
                self.add({**made, "data": text})

    def kubeconfig(self, folder: Path) -> Path:
        path = folder / "kubeconfig"
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": self.url}}],
            "users": [{"name": "it", "user": {"token": "a-secret-token"}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        }
        path.write_text(json.dumps(content))
        return path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.stop()

    def start(self) -> None:
        """Answer from now on, on a port of its own."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _next(self) -> str:
        self._version += 1
        return str(self._version)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"  # each request a connection, so that a stop is a stop
            wbufsize = 1 << 16

            def _any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                outer.answer(self, body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler

    def answer(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        url = urlsplit(handler.path)
        if url.path.startswith("/apis") and "/namespaces/" not in url.path:
            self._discover(handler, url.path)
            return
        if url.path == "/api/v1/namespaces":
            self._list_namespaces(handler, parse_qs(url.query))
            return
        match = _CORE.fullmatch(url.path) or _GROUP.fullmatch(url.path)
        if match is None or match["ns"] != self.namespace:
            status(handler, 403, "Forbidden")
            return
        plural, name = match["plural"], match["name"]
        self.asked[f"{handler.command} {plural}"] += 1
        if handler.headers.get("Authorization") != "Bearer a-secret-token":
            status(handler, 401, "Unauthorized")
            return
        fault = 403 if plural in self.denied else self.faults.get(plural)
        if callable(fault):
            fault(handler)
        elif fault is not None:
            status(handler, fault, "Forbidden" if fault == 403 else "Broken")
        elif plural in self.undefined | self.newer:
            status(handler, 404, "NotFound")
        else:
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            with self._guard:
                self._carry_out(handler, plural, name, query=query, body=body)

    def _list_namespaces(
        self, handler: BaseHTTPRequestHandler, query: Mapping[str, list[str]]
    ) -> None:
        """Answer with the one namespace, which has the label ``team=flink``."""
        is_wanted = query.get("labelSelector", ["team=flink"]) == ["team=flink"]
        shown = [{"metadata": {"name": self.namespace}}] if is_wanted else []
        send(handler, 200, {"kind": "NamespaceList", "metadata": {}, "items": shown})

    def _discover(self, handler: BaseHTTPRequestHandler, path: str) -> None:
        """Answer a question about the API itself."""
        self.discovered[path] += 1
        shown = [
            {
                "name": group,
                "versions": [{"groupVersion": f"{group}/{v}", "version": v} for v in versions],
            }
            for group, versions in self.groups.items()
        ]
        plurals = [
            {"name": each, "singularName": "", "namespaced": True, "kind": each, "verbs": ["list"]}
            for each in (*CRDS, *self.further)
            if each not in self.undefined
            and (each not in self.newer or not path.rstrip("/").endswith("v1beta1"))
        ]
        if self.discovery is not None:
            status(handler, self.discovery, "Broken")
        elif path.rstrip("/") == "/apis":
            send(handler, 200, {"kind": "APIGroupList", "groups": shown})
        elif path.rstrip("/").startswith("/apis/flink.apache.org/"):
            version = path.strip("/").removeprefix("apis/")
            document = {"kind": "APIResourceList", "groupVersion": version, "resources": plurals}
            send(handler, 200, document)
        else:
            status(handler, 404, "NotFound")

    def _carry_out(
        self,
        handler: BaseHTTPRequestHandler,
        plural: str,
        name: str | None,
        *,
        query: Mapping[str, str],
        body: Any,
    ) -> None:
        stored = self.objects.setdefault(plural, {})
        match handler.command, name:
            case "GET", None:
                self._list(handler, plural, query)
            case "GET", str():
                found = stored.get(name)
                send(handler, 200, found) if found else status(handler, 404, "NotFound")
            case "POST", None:
                self._create(handler, stored, body)
            case "PUT", str():
                self._replace(handler, stored, name, body)
            case _:
                status(handler, 405, "MethodNotAllowed")

    def _list(self, handler: BaseHTTPRequestHandler, plural: str, query: Mapping[str, str]) -> None:
        """Answer a page; further ones show what was true when the first was asked for."""
        token = query.get("continue")
        if token is None:
            wanted = [pair.split("=") for pair in query.get("labelSelector", "").split(",") if pair]
            left = [
                deepcopy(each)
                for each in self.objects[plural].values()
                if all(each["metadata"].get("labels", {}).get(k) == v for k, v in wanted)
                and query.get("fieldSelector", "")
                in {"", f"metadata.name={each['metadata']['name']}"}
            ]
        else:
            left = self._snapshots.pop(token)
            if self.expires_after == 0:
                status(handler, 410, "Expired")
                return
            if self.expires_after is not None:
                self.expires_after -= 1
        size = min(self.page, int(query.get("limit", self.page)))
        shown, rest = left[:size], left[size:]
        metadata: dict[str, Any] = {"resourceVersion": str(self._version)}
        if rest:
            metadata["continue"] = f"token-{self._next()}"
            self._snapshots[metadata["continue"]] = rest
        send(handler, 200, {"kind": "List", "metadata": metadata, "items": shown})

    def _create(self, handler: BaseHTTPRequestHandler, stored: dict[str, Any], body: Any) -> None:
        name = body["metadata"]["name"]
        if name in stored:
            status(handler, 409, "AlreadyExists")
        elif not _is_valid(body):
            status(handler, 400, "BadRequest")
        else:
            body["metadata"] |= {"resourceVersion": self._next(), "uid": f"uid-{self._version}"}
            stored[name] = body
            send(handler, 201, body)

    def _replace(
        self, handler: BaseHTTPRequestHandler, stored: dict[str, Any], name: str, body: Any
    ) -> None:
        if name not in stored:
            status(handler, 404, "NotFound")
        elif not _is_valid(body):
            status(handler, 400, "BadRequest")
        elif (
            body["metadata"].get("resourceVersion") != (stored[name]["metadata"]["resourceVersion"])
        ):
            status(handler, 409, "Conflict")
        else:
            body["metadata"]["resourceVersion"] = self._next()
            stored[name] = body
            send(handler, 200, body)


def _is_valid(body: Any) -> bool:
    """Return whether times are spelled as Go's MicroTime is: with exactly six digits."""
    times = [body["spec"].get(name) for name in ("renewTime", "acquireTime")]
    return all(each is None or _MICRO_TIME.fullmatch(each) for each in times)


def send(handler: BaseHTTPRequestHandler, code: int, document: Any) -> None:
    body = json.dumps(document).encode()
    handler.send_response(code)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def status(handler: BaseHTTPRequestHandler, code: int, reason: str) -> None:
    """Answer with a Status, as the API server refuses."""
    document = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "code": code,
        "message": f"{reason}: told by the stand-in",
    }
    send(handler, code, document)
