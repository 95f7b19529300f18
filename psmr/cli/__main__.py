"""Run the command line as ``python -m psmr.cli``."""

import sys

from psmr.cli.entry import main

sys.exit(main())
