"""Unified diff of one file that `git apply` accepts, for every line end and with or without a final one."""

import difflib
from collections.abc import Iterable, Iterator

NO_NEWLINE = "\\ No newline at end of file\n"
CONTEXT_LINES = 3
COMPARED_PAIRS = 1_000_000
"""Above this number of pairs of lines, a changed part is shown as replaced: a comparison would take seconds."""


def unified(path: str, old: str, new: str) -> str:
    """Return the diff from `old` to `new`, or an empty text if they are equal."""
    if old == new:
        return ""
    before, after = _lines(old), _lines(new)
    body = "".join(_with_ends(_hunks(before, after)))
    return f"--- {_name('a', path) if old else '/dev/null'}\n+++ {_name('b', path) if new else '/dev/null'}\n{body}"


def _lines(text: str) -> list[str]:
    """Return lines with their ends. Only a line feed ends a line, as in Git."""
    parts = text.split("\n")
    last = parts.pop()
    return [f"{line}\n" for line in parts] + ([last] if last else [])


def _name(side: str, path: str) -> str:
    name = f"{side}/{path}"
    if '"' in name:
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return f"{name}\t" if " " in name else name


def _with_ends(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}"


def _hunks(before: list[str], after: list[str]) -> Iterator[str]:
    for group in _groups(_opcodes(before, after)):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[i1:i2])
                continue
            yield from (f"-{line}" for line in before[i1:i2])
            yield from (f"+{line}" for line in after[j1:j2])


Opcode = tuple[str, int, int, int, int]


def _opcodes(before: list[str], after: list[str]) -> list[Opcode]:
    """Return the operations of difflib between the common start and the common end."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if len(old) * len(new) > COMPARED_PAIRS:
        middle: list[Opcode] = [("replace", 0, len(old), 0, len(new))]
    else:
        operations = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        middle = [(str(tag), i1, i2, j1, j2) for tag, i1, i2, j1, j2 in operations]
    codes: list[Opcode] = [("equal", 0, start, 0, start)] if start else []
    codes += [(tag, i1 + start, i2 + start, j1 + start, j2 + start) for tag, i1, i2, j1, j2 in middle]
    if end:
        codes.append(("equal", len(before) - end, len(before), len(after) - end, len(after)))
    return codes


def _common(before: list[str], after: list[str]) -> int:
    count = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        count += 1
    return count


def _groups(codes: list[Opcode]) -> Iterator[list[Opcode]]:
    """Group changes with three lines of context. Changes less than seven lines apart form one group."""
    group: list[Opcode] = []
    for at, (tag, i1, i2, j1, j2) in enumerate(codes):
        if tag != "equal":
            group.append((tag, i1, i2, j1, j2))
            continue
        first, last, size = at == 0, at == len(codes) - 1, i2 - i1
        if first:
            context = min(CONTEXT_LINES, size)
            group.append((tag, i2 - context, i2, j2 - context, j2))
        elif last or size > 2 * CONTEXT_LINES:
            context = min(CONTEXT_LINES, size)
            yield [*group, (tag, i1, i1 + context, j1, j1 + context)]
            group = [] if last else [(tag, i2 - context, i2, j2 - context, j2)]
        else:
            group.append((tag, i1, i2, j1, j2))
    if any(code[0] != "equal" for code in group):
        yield group


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
