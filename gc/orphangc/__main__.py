"""``python -m orphangc``."""

from orphangc.shell.cli import main

main()
