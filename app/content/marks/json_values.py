"""Positions of the texts in a JSON document."""

import json
import re
from collections.abc import Iterator

from app.content.marks.values import Path, StringValue

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)


def json_strings(text: str) -> Iterator[StringValue]:
    """Yield the strings of a document that the caller has read. The braces around its members are optional."""
    stack: list[list[str | int]] = []
    if not text.lstrip().startswith(("{", "[")):
        stack.append([""])
    is_key = bool(stack)
    for token in _TOKEN.finditer(text):
        written = token[0]
        if written in "{[":
            stack.append([""] if written == "{" else [0])
            is_key = written == "{"
        elif written in "}]":
            del stack[-1:]
            is_key = False
        elif written == "," and stack:
            [step] = stack[-1]
            is_key = isinstance(step, str)
            stack[-1][0] = step + 1 if isinstance(step, int) else step
        elif is_key and stack:
            stack[-1][0], is_key = json.loads(written), False
        elif written[0] == '"':
            path: Path = tuple(step for [step] in stack)
            yield StringValue(path, json.loads(written), token.start(), token.end() - 1)
