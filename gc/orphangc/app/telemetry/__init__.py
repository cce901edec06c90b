"""TODO app/telemetry."""
