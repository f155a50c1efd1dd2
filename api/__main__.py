"""`python -m batonpass`: the command line."""

from batonpass.cli import main

main()
