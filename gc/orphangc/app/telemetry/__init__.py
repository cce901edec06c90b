"""Logs, metrics, audit log."""
