"""TODO flink/inspection."""
