"""The status of the last runs, as page, REST and metrics read it."""
