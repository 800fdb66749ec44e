"""Figures of the structure of `app`: sizes of modules, imports, one-line functions, and calls of transactions.

Run `python .ci/structure.py` in the project's root, or `make structure`. The figures are aims for a reader's sake. No check
compares them.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parents[1]
TRANSACTIONS = re.compile(
    r"\btransactions\.(?:start_reading|begin_write|release_connection|commit|rollback)\("
    r"|\bdb\.session\.(?:commit|rollback)\("
)
BLOCKS = re.compile(r"\b(?:write_transaction|locked_row|outside_transaction|reading_context)\(")
LONG_LINE = 120


def main() -> None:
    """Print the figures."""
    paths = sorted(path for path in (ROOT / "app").rglob("*.py") if path.read_text().strip())
    texts = {path: path.read_text() for path in paths}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lines = [text.count("\n") for text in texts.values()]
    functions = [
        node
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    imports = sum(isinstance(node, (ast.Import, ast.ImportFrom)) for tree in trees.values() for node in ast.walk(tree))
    outside = [text for path, text in texts.items() if path.parent != ROOT / "app" / "database"]
    rows = (
        ("modules", len(paths)),
        ("lines per module, mean", sum(lines) / len(lines)),
        ("lines per module, median", median(lines)),
        ("lines per module, 90th percentile", quantiles(lines, n=10)[-1]),
        ("lines of the largest module", max(lines)),
        ("import statements per 100 lines", 100 * imports / sum(lines)),
        ("functions that are one return, %", 100 * sum(map(is_one_return, functions)) / len(functions)),
        ("modules that one module of their folder imports, and no other", len(list(folded(trees)))),
        ("transaction calls outside of app/database", sum(len(TRANSACTIONS.findall(text)) for text in outside)),
        ("transaction blocks outside of app/database", sum(len(BLOCKS.findall(text)) for text in outside)),
        ("annotations with Any", sum(len(re.findall(r"\bAny\b", text)) for text in texts.values())),
        (
            f"lines above {LONG_LINE} characters",
            sum(len(line) > LONG_LINE for text in texts.values() for line in text.split("\n")),
        ),
        ("fmt: skip", sum(text.count("# fmt: skip") for text in texts.values())),
    )
    for name, value in rows:
        print(f"{name}: {value:.1f}" if isinstance(value, float) else f"{name}: {value}")
    for path, importer in folded(trees):
        print(f"  {path.relative_to(ROOT)} ({texts[path].count(chr(10))} lines) <- {importer.name}")


def is_one_return(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function consists of a docstring at most and one `return`."""
    has_docstring = ast.get_docstring(function) is not None
    body = function.body[has_docstring:]
    return len(body) == 1 and isinstance(body[0], ast.Return)


def folded(trees: dict[Path, ast.Module]) -> Iterator[tuple[Path, Path]]:
    """Yield each module that only one module imports, if both are in one folder, with that module."""
    importers: dict[str, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                importers[node.module].add(path)
                for name in node.names:
                    importers[f"{node.module}.{name.name}"].add(path)
            elif isinstance(node, ast.Import):
                for name in node.names:
                    importers[name.name].add(path)
    for path in trees:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        users = importers[name] - {path}
        if path.name != "__init__.py" and len(users) == 1 and next(iter(users)).parent == path.parent:
            yield path, next(iter(users))


if __name__ == "__main__":
    main()
