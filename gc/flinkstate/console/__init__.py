"""The command line of flinkstate: parse, call, print, exit."""
