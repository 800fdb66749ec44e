"""Report regular expressions of `app` that can take quadratic or exponential time.

A finding is a nested or an adjacent repetition without an upper bound that can match the same characters, or a searched
expression whose first repetition can also match the text before it. Possessive repetitions and atomic groups do not
backtrack. Maintained linters (regexploit, dlint) do not read possessive repetitions or do not report quadratic time.

Run `python .ci/regex_lint.py` in the project's root. Exits with 1 if there is a finding or an exception without one.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

EXCEPTIONS = {
    (
        "app/content/merge/blocks.py",
        "_TOKEN",
    ): "its last alternative matches at each position, so none is searched twice",
    ("app/content/schema/front_matter_cms.py", "_DYNAMIC"): "reads the path of a folder, at most 500 characters",
    (
        "app/drivers/git/local/trees.py",
        "_TREE_LINE",
    ): "reads a tree that Git has checked, so every line has its zero byte",
    ("app/git_http/pre_receive.py", "_ENTRY"): "reads a tree that Git has checked, so every entry has its zero byte",
    ("app/http/api_document/components.py", "_INTERNAL_NOTE"): "reads texts of the code",
    ("app/http/api_document/operations.py", "_VARIABLE"): "reads texts of the code",
    ("app/http/api_document/operations.py", "_parameters"): "reads texts of the code",
    ("app/http/api_document/operations.py", "shape_of"): "reads texts of the code",
    ("app/preview_proxy/page_head.py", "_RUNS"): "matches at one position only",
    ("app/runtimes/choose.py", "SAMPLE_FOLDERS"): "reads a path, at most 1,024 bytes",
}
"""Reasons of accepted expressions by file and name of the constant or function."""

FUNCTIONS = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
SEARCHES = FUNCTIONS - {"compile", "match", "fullmatch"}
SAMPLE = frozenset(map(chr, range(128))) | frozenset("é日\u2028")
MAX_PATHS = 500
_TOKEN = re.compile(
    r"(?P<flags>\(\?[aiLmsux]+\))"
    r"|(?P<open>\((?:\?(?:P<\w+>|[aiLmsux-]*:|>|<=|<!|=|!))?)"
    r"|(?P<close>\))|(?P<bar>\|)"
    r"|(?P<anchor>\^|\$|\\[AbBZ])"
    r"|(?P<quantifier>(?:[*+?]|\{\d*,?\d*\})[?+]?)"
    r"|(?P<atom>\[\^?\]?(?:\\.|[^\]\\])*+\]|\\(?:x..|u.{4}|U.{8}|[0-7]{1,3}|.)|.)",
    re.DOTALL,
)


@dataclass
class Item:
    """A part of a sequence: characters, or a group of alternatives, with the bounds of its repetition."""

    characters: frozenset[str] = frozenset()
    alternatives: list[list["Item"]] = field(default_factory=list)
    least: int = 1
    is_unbounded: bool = False
    is_possessive: bool = False
    is_anchor: bool = False

    @property
    def can_be_empty(self) -> bool:
        """Return whether the item matches the empty text."""
        empty = bool(self.alternatives) and any(all(one.can_be_empty for one in path) for path in self.alternatives)
        return self.least == 0 or self.is_anchor or empty

    @property
    def first(self) -> frozenset[str]:
        """The characters with which the item starts."""
        return self.characters if self.is_anchor else self.characters.union(*map(first_of, self.alternatives))


def first_of(items: list[Item]) -> frozenset[str]:
    """Return the characters with which a sequence starts."""
    characters: frozenset[str] = frozenset()
    for item in items:
        characters |= item.first
        if not item.can_be_empty:
            break
    return characters


def parse(pattern: str, flags: int) -> Item:
    """Return the pattern as a group of alternatives."""
    root = Item(alternatives=[[]])
    stack = [(root, "(")]
    for token in _TOKEN.finditer(pattern):
        kind, text = token.lastgroup, token[0]
        group = stack[-1][0]
        sequence = group.alternatives[-1]
        if kind == "open":
            stack.append((Item(alternatives=[[]]), text))
        elif kind == "close":
            group, opening = stack.pop()
            group.is_anchor = opening in ("(?=", "(?!", "(?<=", "(?<!")
            group.is_possessive = opening == "(?>"
            stack[-1][0].alternatives[-1].append(group)
        elif kind == "bar":
            group.alternatives.append([])
        elif kind == "anchor":
            is_line_start = text == "^" and flags & re.MULTILINE
            sequence.append(Item(is_anchor=True, characters=frozenset("\n") if is_line_start else frozenset()))
        elif kind == "quantifier" and sequence:
            _repeat(sequence[-1], text)
        elif kind == "atom" and not (flags & re.VERBOSE and text.isspace()):
            accepts = re.compile(text, flags & ~re.VERBOSE).fullmatch
            sequence.append(Item(characters=frozenset(filter(accepts, SAMPLE))))
    return root


def _repeat(item: Item, text: str) -> None:
    bare = text[:-1] if len(text) > 1 and text[-1] in "?+" else text
    least, comma, most = bare.strip("{}").partition(",")
    item.least = 1 if bare == "+" else 0 if bare in ("*", "?") else int(least or 0)
    item.is_unbounded = bare in ("*", "+") or (bool(comma) and not most)
    item.is_possessive = item.is_possessive or (text != bare and text[-1] == "+")


def paths_of(items: list[Item]) -> Iterator[list[Item]]:
    """Yield the sequences without groups that are not repeated. A group that cannot fail remains a group."""
    if not items:
        yield []
        return
    first, *others = items
    is_plain = not (first.is_unbounded or first.is_possessive or first.is_anchor) and first.least == 1
    is_expanded = is_plain and (len(first.alternatives) == 1 or (first.alternatives and not first.can_be_empty))
    heads = [path for one in first.alternatives for path in paths_of(one)] if is_expanded else [[first]]
    for tail in islice(paths_of(others), MAX_PATHS):
        for head in heads[:MAX_PATHS]:
            yield head + tail


def findings_in(pattern: str, flags: int, *, is_searched: bool) -> set[str]:
    """Return the kinds of repetitions that backtrack over the same characters."""
    root = parse(pattern, flags)
    kinds = {"nested" for group in _groups(root) if _is_nested(group)}
    for path in islice((path for one in root.alternatives for path in paths_of(one)), MAX_PATHS):
        kinds |= {"adjacent"} if _has_adjacent(path) else set()
        kinds |= {"searched"} if is_searched and _is_rescanned(path) else set()
    return kinds


def _groups(item: Item) -> Iterator[Item]:
    if item.is_possessive:
        return
    yield item
    for path in item.alternatives:
        for inner in path:
            yield from _groups(inner)


def _is_nested(group: Item) -> bool:
    """Return whether a repeated group has a repetition that can also match what follows it in the next round."""
    if not group.is_unbounded or not group.alternatives:
        return False
    for alternative in group.alternatives:
        for path in paths_of(alternative):
            for number, item in enumerate(path):
                after = path[number + 1 :]
                following = first_of(after) | (group.first if all(one.can_be_empty for one in after) else frozenset())
                if item.is_unbounded and not item.is_possessive and item.first & following:
                    return True
    return False


def _has_adjacent(path: list[Item]) -> bool:
    """Return whether two repetitions can match the same characters, up to something that can fail."""
    for number, one in enumerate(path):
        if not one.is_unbounded or one.is_possessive:
            continue
        common = one.first  # the characters of the first repetition that everything after it can match, too
        for later in range(number + 1, len(path)):
            other = path[later]
            can_fail = any(not item.can_be_empty or item.is_anchor for item in path[later + 1 :])
            if other.is_unbounded and common & other.first and can_fail:
                return True
            common &= common if other.can_be_empty else other.first
    return False


def _is_rescanned(path: list[Item]) -> bool:
    """Return whether a repetition can match the text before it, so that each start of a search reads the same text."""
    for number, item in enumerate(path):
        before, after = path[:number], path[number + 1 :]
        inner = item.alternatives if item.is_anchor else []
        if any(_is_rescanned([*before, *ahead, Item()]) for one in inner for ahead in paths_of(one)):
            return True
        if item.is_unbounded:
            can_fail = any(not one.can_be_empty or one.is_anchor for one in after)
            return can_fail and all(one.first & item.first for one in before if not one.can_be_empty or one.is_anchor)
    return False


def expressions(tree: ast.Module) -> Iterator[tuple[int, str, str, int, bool]]:
    """Yield line, name, pattern, flags and the use with a search of each constant expression of a module."""
    uses: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses.setdefault(node.value.id, set()).add(node.attr)
    for name, scope in _scopes(tree):
        for node in ast.walk(scope):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            function = ast.unparse(node.func)
            method = function.rpartition(".")[2]
            pattern = _text(node.args[0])
            if pattern is None or not (function in {f"re.{one}" for one in FUNCTIONS} or method == "Regexp"):
                continue
            used = uses.get(name, set()) & FUNCTIONS if method == "compile" else {method}
            flags = re.compile(pattern).flags & ~re.UNICODE
            for part in ast.walk(ast.Tuple(elts=[*node.args[1:], *(keyword.value for keyword in node.keywords)])):
                if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "re":
                    flags |= int(getattr(re, part.attr))
            is_searched = bool(used & SEARCHES) or (method == "compile" and not used)
            yield node.lineno, name, pattern, flags, is_searched


def _scopes(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield the top-level statements and methods with the name that they define."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from ((getattr(inner, "name", node.name), inner) for inner in node.body)
        else:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            yield (getattr(node, "name", "") if target is None else ast.unparse(target)), node


def _text(node: ast.expr) -> str | None:
    """Return the text of a constant, also of joined or formatted strings, whose other parts count as a letter."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return node.value if isinstance(node.value, str) else node.value.decode("latin-1")
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    if isinstance(node, ast.BinOp):
        return "".join(_text(part) or "x" for part in (node.left, node.right))
    return None


def main(root: Path) -> int:
    """Print the findings and the exceptions without a finding. Return the exit code."""
    used, lines = set(), []
    for file in sorted(root.joinpath("app").rglob("*.py")):
        path = file.relative_to(root).as_posix()
        for line, name, pattern, flags, is_searched in expressions(ast.parse(file.read_text())):
            kinds = findings_in(pattern, flags, is_searched=is_searched)
            if kinds and (path, name) in EXCEPTIONS:
                used.add((path, name))
            elif kinds:
                lines.append(f"{path}:{line}: {name}: {', '.join(sorted(kinds))} repetition: {pattern}")
    lines += [f"{path}: {name}: the exception is not needed" for path, name in sorted(EXCEPTIONS.keys() - used)]
    print("\n".join(lines) or "Regular expressions: no finding.")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
