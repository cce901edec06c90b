"""One run that carries out a plan: its lock, its steps, its journal, and what it amounts to."""
