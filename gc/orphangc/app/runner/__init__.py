"""One scheduled run: lock, cycle, sweep, record."""
