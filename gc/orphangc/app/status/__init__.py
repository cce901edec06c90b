"""The status of the last runs, for the status page, REST and metrics."""
