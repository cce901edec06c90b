"""``python -m flinkstate``."""

from flinkstate.console.application import main

main()
