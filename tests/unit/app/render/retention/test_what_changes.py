"""Each reason for which a checkpoint is kept has the one thing that would change it."""

from orphangc.app.render.retention.lineage_tables import CHANGES
from orphangc.core.lineage.checkpoint_fates import _EXPIRING, RetentionReason


def test_every_reason_to_keep_says_what_would_change_it() -> None:
    assert CHANGES.keys() == set(RetentionReason) - _EXPIRING
