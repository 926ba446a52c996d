"""The `perdure` command, also as `python -m perdure`: from its first line on, a signal ends it in good order."""

from perdure.stopping import stop_on_signals


def main() -> None:
    """Be ready to be stopped, and only then load the command."""
    stop_on_signals()
    from perdure.cli import main as command

    command()


if __name__ == "__main__":
    main()
