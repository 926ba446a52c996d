"""`perdure watch`: follow lifetimes while they run, in the browser or in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.options import Experts, Json, Logs, Quiet, emit_json, left_out_facts, with_settings
from perdure.cli.terminal import echo, leave

if TYPE_CHECKING:
    from perdure.settings import Settings
    from perdure.watch.monitor import Monitor


EXAMPLE = "perdure watch logs --terminal --once"


@with_settings("logs", advanced=("host", "token"))
def watch(
    logs: Logs,
    settings: Settings,
    experts: Experts = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of the page; 0 finds a free one.")] = 0,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Show progress in the terminal instead of serving a page.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Show the current state once and exit.")] = False,
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="NAME", help="Host name or address to serve on; other than localhost needs --token."
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option("--token", metavar="TEXT", help="Password of the page, at least 16 characters.")
    ] = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Follow lifetimes while they run: progress, curves, metrics so far, and warnings.

    It writes nothing to the logs. Only this machine can open the page, unless --host and --token are given.
    """
    from perdure.watch.monitor import Monitor

    monitor = Monitor(logs, experts or (), settings, wait=not (once or json))
    if once or json:
        _once(monitor, json, quiet)
    elif terminal:
        _in_terminal(monitor)
    else:
        _serve(monitor, host, port, token, open_page, quiet)


def _once(monitor: Monitor, json: str | None, quiet: bool) -> None:
    from perdure.cli.console import Console
    from perdure.watch.page import facts
    from perdure.watch.terminal import table

    monitor.settle()
    if json:
        emit_json({**monitor.used_settings, **facts(monitor), "left_out": left_out_facts(monitor.left_out())}, json)
    if not quiet and json != "-":
        Console().print(table(monitor))
    leave(monitor.left_out())


def _in_terminal(monitor: Monitor) -> None:
    import time

    from rich.live import Live

    from perdure.cli.console import Console
    from perdure.watch.terminal import table

    try:
        with Live(console=Console(), refresh_per_second=4) as live:
            while True:
                monitor.poll()
                live.update(table(monitor))
                time.sleep(1)
    except KeyboardInterrupt:
        return


def _serve(monitor: Monitor, host: str, port: int, token: str | None, open_page: bool, quiet: bool) -> None:
    from perdure.watch.server import serve

    def started(address: str) -> None:
        if not quiet:
            echo(address)
        if open_page:
            import webbrowser

            webbrowser.open(address)

    serve(monitor, host=host, port=port, token=token, started=started)
