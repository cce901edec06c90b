"""Ports on loopback, each of them one process's as long as that process runs."""

import random
import socket

# below the ports that systems hand out to outgoing connections
PORTS = range(20_000, 32_000)


def free_port() -> int:
    """Return a port that is free now, and that no other process of the tests is given meanwhile."""
    chosen = random.sample(PORTS, len(PORTS))
    return next(each for each in chosen if _is_free(each) and _is_leased(each))


def free_ports() -> tuple[int, int]:
    """Return two of them; Flink must know both before it starts."""
    return free_port(), free_port()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _is_leased(port: int) -> bool:
    """Take a port for this process, if no process of the tests has it.

    What takes it is a name that the kernel forgets when this process ends.
    """
    lease = socket.socket(socket.AF_UNIX)
    try:
        lease.bind(f"\0orphangc-tests-port-{port}")
    except OSError:
        lease.close()
        return False
    lease.detach()  # stays open
    return True
