"""The one place that builds adapters from settings."""
