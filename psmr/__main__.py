"""Run the command line as ``python -m psmr``."""

import sys

from psmr.cli import main

if __name__ == "__main__":
    sys.exit(main())
