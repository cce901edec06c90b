"""Flink's REST interface, as much of it as the harness speaks."""

from pathlib import Path
from typing import Any

import httpx

from integration.harness.flinkbed.waiting import FlinkbedError, without_frames
from support import speed

ENDED = frozenset({"CANCELED", "FAILED", "FINISHED"})


class Rest:
    """A JobManager's REST interface on loopback."""

    def __init__(self, url: str) -> None:
        self.url = url
        # a job's main method runs within the request that submits it
        self._client = httpx.Client(base_url=url, timeout=speed.command(), trust_env=False)

    def close(self) -> None:
        self._client.close()

    def get(self, path: str) -> Any:
        return self._client.get(path).raise_for_status().json()

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the answer to a request that changes something; a refusal names Flink's reason."""
        answer = self._client.request(method, path, json=body)
        if answer.is_error:
            raise FlinkbedError(f"{method} {path}: {answer.status_code} {reason(answer)}")
        return answer.json()

    def upload(self, jar: Path) -> str:
        """Store a job's jar with the JobManager and return the id to run it by."""
        with jar.open("rb") as stream:
            files = {"jarfile": (jar.name, stream, "application/x-java-archive")}
            answer = self._client.post("/jars/upload", files=files).raise_for_status()
        return Path(answer.json()["filename"]).name

    def unfinished_jobs(self) -> list[str]:
        jobs = self.get("/jobs")["jobs"]
        return [job["id"] for job in jobs if job["status"] not in ENDED]

    def job_state(self, job_id: str) -> str:
        return str(self.get(f"/jobs/{job_id}")["state"])

    def is_running(self, job_id: str) -> bool:
        job = self.get(f"/jobs/{job_id}")
        tasks = {vertex["status"] for vertex in job["vertices"]}
        return job["state"] == "RUNNING" and tasks == {"RUNNING"}

    def root_exception(self, job_id: str) -> str:
        answer = self.get(f"/jobs/{job_id}/exceptions")
        entries = answer.get("exceptionHistory", {}).get("entries", [])
        texts = [entry["stacktrace"] for entry in entries] or [answer.get("root-exception") or ""]
        return without_frames("\n".join(texts))

    def accumulators(self, job_id: str) -> dict[str, int]:
        answer = self.get(f"/jobs/{job_id}/accumulators")["user-task-accumulators"]
        return {entry["name"]: int(entry["value"]) for entry in answer}


def reason(answer: httpx.Response) -> str:
    try:
        text = "\n".join(answer.json()["errors"])
    except (ValueError, KeyError):
        text = answer.text
    return without_frames(text)[-4000:]
