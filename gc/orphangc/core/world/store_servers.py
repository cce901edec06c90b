"""Which server an endpoint of S3 is: one bucket has one name at all hosts of a store."""

import re
from urllib.parse import urlsplit

_AWS = re.compile(
    r"(?:.+\.)?s3[a-z0-9-]*(?:\.dualstack)?(?:\.[a-z]{2}(?:-[a-z]+)+-\d+)?(?:\.vpce)?"
    r"\.(?P<domain>amazonaws\.com(?:\.cn)?)(?::443|:80)?"
)
"""Source: AWS General Reference, "Amazon S3 endpoints and quotas"; "AWS PrivateLink for S3"."""


def server_at(host: str) -> str:
    """Return what all hosts of S3 in a partition of AWS have in common, or any other host itself.

    A bucket has one name at all of them. Machines and load balancers have AWS's names, too.
    """
    if (found := _AWS.fullmatch(host)) is None:
        return host
    return f".us-gov.{found['domain']}" if "us-gov-" in host else f".{found['domain']}"


def host_of(endpoint: str) -> str:
    """Return host and port of an endpoint, which may be spelled with or without a scheme.

    Return "" for what is no address.
    """
    try:
        return urlsplit(endpoint if "://" in endpoint else f"//{endpoint}").netloc.lower()
    except ValueError:
        return ""
