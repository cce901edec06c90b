"""What a person or a scheduler touches: command line, settings, logs, rendering."""
