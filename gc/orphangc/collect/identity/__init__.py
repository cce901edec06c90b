"""Which job is which: a job is a directory and a job id (decision 20)."""
