"""Ports on loopback."""

import random
import socket

# below the ports that systems hand out to outgoing connections
PORTS = range(20_000, 32_000)


def free_ports() -> tuple[int, int]:
    """Return two ports that are free now; Flink must know both before it starts."""
    free = filter(_is_free, random.sample(PORTS, len(PORTS)))
    return next(free), next(free)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
