"""Pages of ListObjectsV2, from the request to the rows."""
