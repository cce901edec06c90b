"""``serve``: the daemon's schedules, HTTP server and shutdown."""
