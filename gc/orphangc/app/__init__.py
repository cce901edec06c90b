"""The program: command line, configuration, daemon, pages. No other folder imports it."""
