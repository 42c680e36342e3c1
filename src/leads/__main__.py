"""`python -m leads`."""

from leads.cli import main

main()
