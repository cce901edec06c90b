"""The least that a run must be allowed to do, as each provider spells it (decision 18)."""
