"""python -m paretofoil."""

from paretofoil.cli import main

main()
