"""`python -m perdure` is the `perdure` command."""

from perdure.cli import main

if __name__ == "__main__":
    main()
