"""Areas of a checkpoint storage: names, writers, references and rules of each, as one table."""
