"""`python -m perdure.classic.tella SCRIPT`: a script written for tella, as it is."""

import sys

from perdure.classic.tella.standing import main

if __name__ == "__main__":
    sys.exit(main())
