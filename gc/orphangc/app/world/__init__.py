"""``orphangc world``: the places that a deletion rests on, and a person's word on what changed."""
