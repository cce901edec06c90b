"""`init`, and what `doctor` and it try: the jobs of the next run, buckets, clusters."""
