"""What each source says: resources, pod templates, workloads, files, REST."""
