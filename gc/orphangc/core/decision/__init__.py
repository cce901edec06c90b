"""Evidence, guards, conditions, judgement, verdict: the rule and its twin over columns."""
