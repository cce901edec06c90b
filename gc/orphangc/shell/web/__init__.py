"""What the daemon answers over HTTP: metrics, health, REST and the status page; all read-only."""

from orphangc.shell.web.app import create_app

__all__ = ["create_app"]
