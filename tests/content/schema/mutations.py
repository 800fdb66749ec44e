"""Mutated schema files: changed bytes, and documents with replaced, repeated and removed values."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import yaml

from app.content.schema.model import SourceKind
from tests.content.schema.samples import SAMPLES

VALUES: tuple[Any, ...] = (
    None, True, 5, -1.5, "", "x" * 600, "../up", "a/b", "{{now}}", "\u0000", [], {}, [[]], [None], {"name": 1}, "é" * 50,
    {"": {}}, [{"name": "title"}, {"name": "title"}], 10**30, "**/*.{md,", "list", "object", "select",
)  # fmt: skip


def mutated(count: int, seed: int) -> Iterator[tuple[SourceKind, str, bytes]]:
    """Yield kind, path and bytes of mutated files, each format in turn."""
    dice = random.Random(seed)
    kinds = list(SAMPLES)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        path, data = SAMPLES[kind]
        yield kind, path, _bytes(dice, data) if dice.random() < 0.4 else _document(dice, path, data)


def _bytes(dice: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(dice.randint(1, 6)):
        start = dice.randrange(len(changed))
        end = min(len(changed), start + dice.randint(1, 30))
        if dice.random() < 0.5:
            changed[start:end] = dice.randbytes(dice.randint(0, 4))
        else:
            changed[start:start] = changed[start:end] * dice.randint(1, 3)
    return bytes(changed)


def _document(dice: random.Random, path: str, data: bytes) -> bytes:
    text = data.decode()
    lines = [line for line in text.splitlines() if not line.strip().startswith("//")]
    document = yaml.safe_load("\n".join(lines))
    for _ in range(dice.randint(1, 4)):
        _change(dice, document)
    return json.dumps(document).encode()


def _change(dice: random.Random, value: Any) -> None:
    """Change one value at a random depth."""
    while isinstance(value, dict | list) and value:
        key = dice.choice(list(value)) if isinstance(value, dict) else dice.randrange(len(value))
        inner = value[key]
        if not isinstance(inner, dict | list) or not inner or dice.random() < 0.25:
            value[key] = copy.deepcopy(dice.choice(VALUES))
            return
        value = inner
