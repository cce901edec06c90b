"""The configuration file: YAML completed by the environment, checked, with its schema."""
