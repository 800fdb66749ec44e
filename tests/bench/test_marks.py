"""Marks in the files of a large site, compared with the parser of Markdown blocks that they need."""

import random

import pytest
from markdown_it import MarkdownIt

from app.content.marks import MarkRules, mark_file, mark_rules
from tests.bench.large import cpu_taken
from tests.support.samples.editorial_sites import ENGLISH

FILES, SIZE = 10_000, 4_096
SAMPLE = 1_000
ROUNDS = 3
FRONT_MATTER = """---
title: {title}
description: "{text}"
date: 2024-05-01T10:00:00Z
tags: [boats, summer]
draft: false
image: /images/pier.jpg
---

"""


def page(chance: random.Random) -> str:
    """Return a page of 4 KB with paragraphs, headings, lists, tables, quotations and code."""
    parts = [FRONT_MATTER.format(title=chance.choice(ENGLISH.titles()), text=ENGLISH.paragraph(chance, 1))]
    while sum(map(len, parts)) < SIZE:
        lines = [ENGLISH.paragraph(chance, 1) for _ in range(4)]
        blocks = (
            "\n".join(lines),
            " ".join(lines),
            f"## {chance.choice(ENGLISH.headings)}",
            "\n".join(f"- {line}" for line in lines),
            f"> {lines[0]}",
            f"| one | two |\n|---|---|\n| {lines[0]} | `code` |",
            "```sh\nmake run\n```",
        )
        parts.append(chance.choices(blocks, (4, 4, 2, 2, 1, 1, 1))[0] + "\n\n")
    return "".join(parts)[:SIZE]


class TestMarks:
    def test_cost_of_a_large_site_is_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        chance = random.Random(51)
        pages = [(f"content/posts/{number}.md", page(chance)) for number in range(SAMPLE)]
        files = [(path, text.encode()) for path, text in pages]
        parser, rules = MarkdownIt("js-default"), MarkRules()

        def mark() -> None:
            for path, data in files:
                assert mark_file(path, data, 0, rules) is not None

        def parse() -> None:
            for _, text in pages:
                parser.block.parse(text, parser, {}, [])

        taken, least, reading = (
            min(cpu_taken(call) for _ in range(ROUNDS)) for call in (mark, parse, lambda: mark_rules(None, files))
        )
        factor = FILES / SAMPLE
        with capsys.disabled():
            print(
                f"\n  marks of {FILES} files of 4 KB: {taken * factor:.1f} s (goal 10), {taken / least:.2f} × parsing"
            )
            print(f"  rules of {FILES} files of 4 KB: {reading * factor:.1f} s")
