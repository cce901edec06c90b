"""Starts the synthetic endpoint for a test or a benchmark, and speaks to it."""

import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.synth.layouts import BUCKET, ROOT
from support import speed

_TESTS = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Synth:
    url: str  # of the endpoint, without trailing slash
    uri: str = f"s3://{BUCKET}/{ROOT}"  # of the storage root

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def control(self, **values: object) -> dict:
        """Set controls, and return them all; ``reset=1`` undoes deletions, zeroes counters."""
        texts = {n: str(int(v)) if isinstance(v, bool) else str(v) for n, v in values.items()}
        return self._json(f"/_ctl?{urllib.parse.urlencode(texts)}")

    def stats(self) -> dict:
        return self._json("/_stats")

    def _json(self, path: str) -> dict:
        with urllib.request.urlopen(self.url + path, timeout=speed.command()) as answer:
            return json.load(answer)


@contextmanager
def synth_server(**options: object) -> Iterator[Synth]:
    """Yield an endpoint that lives as long as the block; options are those of its command."""
    arguments = [
        part
        for name, value in options.items()
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.synth", *arguments],
        env={**os.environ, "PYTHONPATH": str(_TESTS)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        word, _, url = child.stdout.readline().strip().partition(" ")
        if word != "ready":
            raise RuntimeError(f"the synthetic endpoint ended with {child.wait()}")
        yield Synth(url)
    finally:
        child.terminate()
        child.wait()
        child.stdout.close()
