"""What the daemon answers over HTTP: metrics, health, REST and the status page; all read-only."""
