"""What a person reads in sentences: verdicts, and what comes next."""
