"""`python -m core.cli`: the same as `wayfare`."""

from core.cli.main import main

main()
