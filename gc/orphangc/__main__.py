"""``python -m orphangc``."""

from orphangc.app.cli import main

main()
