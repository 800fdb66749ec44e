"""Word lint: reports terms that the language rules forbid in names, docstrings and comments, and names of log events.

Usage, in the project's root:
    python .ci/word_lint.py PATH...   list the findings below the paths
    python .ci/word_lint.py --check   list all findings and the public class names that are defined twice

The exit code is 1 if there is a finding.
"""

import ast
import collections
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATHS = ("app", "tests", "deploy", "migrations", ".ci", "config.py", "wsgi.py", "gunicorn.conf.py")

TERMS = set(
    """tell tells told telling wish tend tended tending aside beside dear anew amid meanwhile lately whence thereof heed
    mend whoever whomever whatever wherever nobody somebody anybody everybody stranger patience patient impatient garbled
    rubbish""".split()
)
PHRASES = ["by now", "any more", "save that", "for good", "hangs on", "comes to nothing", "of its own", "of ours"]
HEADLESS = set("What Whether Who Whose Whom Why How Where When That Of So Nothing Nobody".split())
NAME_PARTS = TERMS | set(
    """found wanted given place places turn word words room rest kept keep keeper left made said asked seen gone lost alike
    near apart still look way thing stuff flow desk""".split()
)
# Names of tests may contain more words than other names, for example in `not_found` and `lost_response`.
TEST_PARTS = TERMS | set("who whom whose what alike said asked gone stands".split())
TEST_SUBJECTS = set("a an the it this they one of nothing".split())
BOUNDS = re.compile(r"(^|_)(MOST|LEAST|AT_ONCE|ENOUGH|A_USER|A_PROJECT|OF_ALL|OF_ONE)(_|$)")
TEXT = re.compile(rf"\b(?:{'|'.join(sorted(TERMS))})\b|{'|'.join(map(re.escape, PHRASES))}", re.IGNORECASE)

# (file, or "" for every file; name; reason)
EXCEPTIONS = [
    ("", "given_name", "claim of OpenID Connect"),
    ("", "keepalive", "name of the HTTP and TCP feature"),
    ("", "keep_alive", "name of the HTTP and TCP feature"),
    ("", "lost_update", "term for a write that another write replaces"),
    ("", "is_still_allowed", "predicate of a repeated check"),
    ("", "is_still_authenticated", "predicate of a repeated check"),
    ("", "COMMAND_NOT_FOUND", "POSIX name of exit status 127"),
    ("app/resources/outbound_webhook/service.py", "Gone", "name of the HTTP status 410"),
    ("app/http/idempotency.py", "StillRunning", "name of the error code STILL_RUNNING"),
    ("app/core/errors.py", "NotFound", "the HTTP term Not Found"),
    ("", "last_seen_at", "name of the stored column"),
    ("app/resources/organization/schemas.py", "left", "name in the response of DELETE /organization/leave"),
    ("app/resources/system/schemas.py", "worker_seen_s", "name in the response of /readyz"),
    ("app/models/content_search.py", "words", "name of the stored column"),
    ("app/backup/manifest.py", "made_at", "stored key of the manifest format"),
    ("app/drivers/git/rest/client.py", "RestClient", "REST"),
    ("app/drivers/git/rest/client.py", "RestRequest", "REST"),
    ("app/drivers/http/client.py", "ConnectionLost", "the usual term for a connection that ended"),
    ("app/content/words.py", "word", "search terms"),
    ("app/content/words.py", "words", "search terms"),
]

EVENT = re.compile(r"[a-z][a-z_]*(\.[a-z][a-z_]*)+|request")
"""The name of a log event: area and object, for example `job.lease_lost`. `request` is the line of a request."""
LOGGERS, LEVELS = {"log", "lines"}, {"debug", "info", "warning", "error", "exception"}

Finding = tuple[int, str, str]


def findings(source: str, name: str) -> list[Finding]:
    """Return the findings in the source of the file `name` as line, kind and text."""
    allowed = {known for file, known, _ in EXCEPTIONS if file in ("", name)}
    has_locals = not name.startswith(("tests/", "deploy/"))
    return sorted({*_of_tree(ast.parse(source), allowed, has_locals=has_locals), *_of_comments(source)})


def _of_tree(tree: ast.Module, allowed: set[str], *, has_locals: bool) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of_docstring(node)
        for name in _names(node, has_locals=has_locals):
            if name not in allowed and _is_forbidden(name):
                yield getattr(node, "lineno", 1), "name", name
        if isinstance(node, ast.Call) and (event := _event(node)) is not None and not EVENT.fullmatch(event):
            yield node.lineno, "log event", event


def _event(call: ast.Call) -> str | None:
    """Return the constant name of a log event."""
    match call:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=logger), attr=level), args=[ast.Constant(value=str(event)), *_]
        ) if logger in LOGGERS and level in LEVELS:
            return event
    return None


def _of_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
    text, line = ast.get_docstring(node) or "", getattr(node, "lineno", 1)
    if text.split() and text.split()[0].strip(".,:;") in HEADLESS:
        yield line, "headless docstring", text.split("\n")[0][:80]
    for match in TEXT.finditer(text):
        yield line, "word in a docstring", match[0]


def _names(node: ast.AST, *, has_locals: bool) -> Iterator[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    elif has_locals and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif has_locals and isinstance(node, ast.arg):
        yield node.arg


def _is_forbidden(name: str) -> bool:
    if name.startswith("test_"):
        terms = name.split("_")
        return terms[1] in TEST_SUBJECTS or not TEST_PARTS.isdisjoint(terms)
    parts = {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    return bool(parts & NAME_PARTS or BOUNDS.search(name))


def _of_comments(source: str) -> Iterator[Finding]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            for match in TEXT.finditer(token.string):
                yield token.start[0], "word in a comment", match[0]


def duplicate_classes(files: Iterable[Path], root: Path = ROOT) -> list[str]:
    """Return the public class names that more than one module defines, each with its modules."""
    modules: dict[str, list[str]] = collections.defaultdict(list)
    for path in files:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(path.relative_to(root).as_posix())
    return [f"{name}: {', '.join(paths)}" for name, paths in sorted(modules.items()) if len(paths) > 1]


def _files(paths: Iterable[str]) -> list[Path]:
    files: list[Path] = []
    for path in map(ROOT.joinpath, paths):
        files += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return files


def check(paths: Iterable[str]) -> list[str]:
    """Return a line for each finding below the paths."""
    return [
        f"{name}:{line}: {kind}: {text}"
        for path in _files(paths)
        for name in [path.relative_to(ROOT).as_posix()]
        for line, kind, text in findings(path.read_text(), name)
    ]


def main(arguments: list[str]) -> int:
    """Print the findings and return the exit code."""
    if arguments == ["--check"]:
        classes = [f"class defined twice: {line}" for line in duplicate_classes(_files(["app"]))]
        failures = check(PATHS) + classes
    else:
        failures = check(arguments or PATHS)
    print("\n".join(failures) or "Word lint: no finding.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
