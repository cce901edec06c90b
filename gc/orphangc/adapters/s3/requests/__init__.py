"""The S3 client, and the request template from botocore's first request."""
