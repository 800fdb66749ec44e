"""Rules of migrations that run while the previous version serves (docs/deployment.md, Migrations), checked in the source.

A migration can add objects that the previous version ignores. A migration that removes an object declares
`CONTRACTS = "reason and version that no longer uses it"`.
"""

import ast
import re
from collections.abc import Iterator

TAKES_AWAY = {"drop_column", "drop_table", "drop_constraint", "rename_table", "drop_index"}
SCANS = {"create_check_constraint", "create_foreign_key", "create_unique_constraint"}

STATEMENTS = {
    r"\bDROP\s+(TABLE|COLUMN|CONSTRAINT|INDEX)\b": "takes something away",
    r"\bRENAME\b": "renames",
    r"\bLOCK\s+TABLE\b": "locks a table",
    r"\bSET\s+NOT\s+NULL\b": "forbids what the older version writes",
    r"\bCREATE\s+(UNIQUE\s+)?INDEX\s+(?!CONCURRENTLY)": "builds an index under a lock",
}


def faults(source: str) -> list[str]:
    """Return the statements of `upgrade` that are not safe while the previous version runs."""
    module = ast.parse(source)
    contracts = any(isinstance(node, ast.Assign) and _is_named(node.targets[0], "CONTRACTS") for node in module.body)
    upgrade = next(node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "upgrade")
    made = {_text(call.args[0]) for call in _calls(upgrade) if _name(call) == "create_table"}
    return [fault for call in _calls(upgrade) for fault in _of(call, made, contracts=contracts)]


def _of(call: ast.Call, made: set[str], *, contracts: bool) -> Iterator[str]:
    name = _name(call)
    if name in TAKES_AWAY and not contracts:
        yield f"{name}: the older version may still use it; CONTRACTS is to say why it does not"
    if name == "add_column" and _text(call.args[0]) not in made:
        column = call.args[1]
        values = {word.arg: word.value for word in column.keywords} if isinstance(column, ast.Call) else {}
        if _is_false(values.get("nullable")) and "server_default" not in values:
            yield "add_column: not null without a server default; the older version does not write it"
    if name == "alter_column" and not contracts:
        words = {word.arg: word.value for word in call.keywords}
        if "new_column_name" in words or "type_" in words or _is_false(words.get("nullable")):
            yield "alter_column: a new name, another type or not null breaks the older version"
    if name == "create_index" and _text(call.args[1]) not in made and not _keyword(call, "postgresql_concurrently"):
        yield "create_index: on a table there is, give postgresql_concurrently=True in an autocommit_block"
    if name in SCANS and _text(call.args[1]) not in made and not _keyword(call, "postgresql_not_valid"):
        yield f"{name}: checks every row under a lock; add it NOT VALID, validate it by itself"
    if name == "execute" and call.args:
        yield from _of_statement(_text(call.args[0]), contracts=contracts)


def _of_statement(text: str, *, contracts: bool) -> Iterator[str]:
    for pattern, what in STATEMENTS.items():
        if re.search(pattern, text, re.IGNORECASE) and not contracts:
            yield f"execute: {what}: {text[:80]}"


def _calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            yield node


def _name(call: ast.Call) -> str:
    """Return the name of an operation of `op` or of a batch."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _keyword(call: ast.Call, name: str) -> bool:
    return any(
        word.arg == name and isinstance(word.value, ast.Constant) and word.value.value is True for word in call.keywords
    )


def _text(node: ast.expr) -> str:
    """Return the string constants of an expression."""
    return " ".join(str(each.value) for each in ast.walk(node) if isinstance(each, ast.Constant) and each.value)


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
