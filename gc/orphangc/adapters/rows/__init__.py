"""Files of rows: the spool of a listing, verdicts, outcomes, saved plans."""
