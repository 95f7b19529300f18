"""Run the command line as ``python -m psmr.cli``."""

import sys

from psmr.cli import main

sys.exit(main())
