"""`python -m perdure.classic.tella SCRIPT`: run a script written for tella, unchanged."""

import sys

from perdure.classic.tella.import_shim import main

if __name__ == "__main__":
    sys.exit(main())
