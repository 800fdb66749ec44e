"""Unified diff of one file that `git apply` accepts, for every line end and with or without a final one."""

from app.drivers.git.file_diff import unified_diff


def unified(path: str, old: str, new: str) -> str:
    """Return the diff from `old` to `new`, or an empty text if they are equal. Git makes it in a child process."""
    if old == new:
        return ""
    hunks = unified_diff(old.encode(), new.encode(), as_text=True).decode()
    return f"--- {_name('a', path) if old else '/dev/null'}\n+++ {_name('b', path) if new else '/dev/null'}\n{hunks}"


def _name(side: str, path: str) -> str:
    name = f"{side}/{path}"
    if '"' in name:
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return f"{name}\t" if " " in name else name
