"""Tasks and their parameters as tables, from what the tasks declare."""

from __future__ import annotations

from importlib import import_module

from perdure.tasks.interface import TASKS
from perdure.tasks.resolve import kind_named

__all__ = ["parameter_table", "task_table"]


def task_table() -> str:
    """Every registered task with its one line, in Markdown."""
    import_module("perdure.tasks.catalogue")
    rows = (f"| `{name}` | {TASKS.get(name).summary} |" for name in TASKS.names())
    return "\n".join(("| task | what is to be learned |", "|---|---|", *rows))


def parameter_table(name: str) -> str:
    """Every parameter of a task with its default, what it may be and what it means, in Markdown."""
    parameters = kind_named(name).parameters
    if parameters is None:
        return f"What `{name}` takes, its environment decides."
    rows = (f"| `{one.name}` | {one.default!r} | {one.form} | {one.meaning} |" for one in parameters)
    return "\n".join(("| parameter | default | may be | meaning |", "|---|---|---|---|", *rows))
