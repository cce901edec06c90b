"""``serve``: schedules, HTTP, shutdown."""
