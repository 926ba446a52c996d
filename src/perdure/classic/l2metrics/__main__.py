"""`python -m perdure.classic.l2metrics`: the command of l2metrics."""

import sys

from perdure.classic.l2metrics.command import main

if __name__ == "__main__":
    sys.exit(main())
