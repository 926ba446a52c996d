"""List every string that a user can see, so that a change of any is reviewed.

Every text of several words in the code counts. Of docstrings, only those of verbs, metrics, learners and tasks count,
which become help and tables; of templates, only the text between tags. Placeholders appear as {…}.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

__all__ = ["LIST", "text"]

LIST = Path(__file__).parents[1] / "tests" / "strings.txt"
_SOURCE = Path(__file__).parents[1] / "src" / "perdure"
_SAYS = re.compile(r"[A-Za-z…}%’)\"']{2,}[,;:.!?)]* +[({“'\"]?[A-Za-z0-9{<]|^\W*[A-Za-z]{3,}\W*…")
_SHOWN = {"metric", "layout", "task", "learner"}
"""Decorators whose function's docstring becomes a line of a table."""
_Holder = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def text() -> str:
    """Return the text of the list: a heading per file and its sorted strings."""
    parts = []
    for path in sorted((*_SOURCE.rglob("*.py"), *_SOURCE.rglob("*.j2"))):
        texts = _of_code(path) if path.suffix == ".py" else _of_template(path)
        lines = sorted(
            {" ".join(text.split()) for text in texts if _SAYS.search(text)}, key=lambda text: (text.lower(), text)
        )
        if lines:
            parts.append("\n".join([f"== {path.relative_to(_SOURCE).as_posix()}", *lines]))
    return "\n\n".join(parts) + "\n"


def _of_code(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, _Holder):
            text = ast.get_docstring(node)
            if text and _becomes_help(node, path):
                yield text.partition("\n\n")[0] if path.parent.name != "cli" else text
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))  # a docstring of any kind
        elif isinstance(node, ast.Assert) and node.msg is not None:
            skipped.update(id(child) for child in ast.walk(node.msg))  # for contributors
        elif isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in skipped:
            if (text := _read(node)) is not None:
                yield text
            skipped.update(id(part) for part in getattr(node, "values", ()) if isinstance(part, ast.Constant))


def _becomes_help(node: _Holder, path: Path) -> bool:
    if isinstance(node, ast.Module):
        return False
    if isinstance(node, ast.ClassDef):
        return path.parent == _SOURCE / "learners" and path.stem != "interface"
    if path.parent.name == "cli" and node.name == path.stem:
        return True
    names = (decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in node.decorator_list)
    return any(ast.unparse(name).rpartition(".")[2] in _SHOWN for name in names)


def _read(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_read(value) or "{…}" for value in node.values)
    return None


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._within: str = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within = tag
        self.found += [
            value for name, value in attrs if value and name in ("title", "alt", "aria-label", "placeholder")
        ]

    def handle_data(self, data: str) -> None:
        if self._within not in ("script", "style"):
            self.found.append(data)


def _of_template(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    source = re.sub(r"\{[%#].*?[%#]\}", "\n\n", source, flags=re.DOTALL)
    reader = _Text()
    reader.feed(re.sub(r"\{\{.*?\}\}", "{…}", source, flags=re.DOTALL))
    for text in reader.found:
        yield from text.split("\n\n")


if __name__ == "__main__":
    LIST.write_text(text(), encoding="utf-8")
