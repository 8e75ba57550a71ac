"""`python -m core.cli` runs `wayfare`."""

from core.cli.main import main

main()
