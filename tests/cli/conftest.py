"""Every test here runs whole commands, in surroundings of its own."""

from cli.own_environment import own_surroundings
from cli.stories import bed, story, undeclared
from cli.stories_on_s3 import on_radosgw, on_s3, s3_server
from contracts.conftest import radosgw_url

__all__ = ["bed", "on_s3", "own_surroundings", "s3_server", "story", "undeclared"]
__all__ += ["on_radosgw", "radosgw_url"]
