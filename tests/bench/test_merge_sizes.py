"""Processor time of the merge of one file at 64 KiB, 256 KiB and 1 MiB: the ratios of the times to those of the sizes."""

import json
import time
from collections.abc import Callable

import pytest

from app.content.merge.files import MergedFile, merge_file

SIZES = (64 * 1024, 256 * 1024, 1024 * 1024)
ROUNDS = 3
PARTS: dict[str, tuple[str, Callable[[int], str]]] = {
    "different paragraphs": ("a.md", lambda n: f"Paragraph {n} has a word and other text of the usual length.\n\n"),
    "long paragraphs": ("a.md", lambda n: f"Paragraph {n} has a word. {'The text continues. ' * 10}\n\n"),
    "equal paragraphs": ("a.md", lambda _: "Paragraph with a word.\n\n"),
    "one paragraph": ("a.md", lambda n: f"line {n} with a word\n"),
    "fenced code": ("a.md", lambda _: "```\nx word\n\ny\n```\n\n"),
    "one open fence": ("a.md", lambda n: f"{'' if n else '```'}\nword\n"),
    "table rows": ("a.md", lambda n: f"| {n} | word | text |\n"),
    "quotes": ("a.md", lambda n: f"{'> ' * (n % 99)}word\n"),
    "lines": ("a.txt", lambda n: f"line {n} with a word\n"),
    "equal lines": ("a.txt", lambda _: "line with a word\n"),
    "two lines in turn": ("a.txt", lambda n: "a word\n" if n % 3 else "}\n"),
    "empty lines": ("a.txt", lambda n: "word\n" if n % 25 == 1 else "\n"),
    "keys of front matter": ("a.md", lambda n: f"{'' if n else '---' + chr(10)}key{n}: word {n}\n"),
    "keys of YAML": ("a.yml", lambda n: f"key{n}: word {n}\n"),
    "list of YAML": ("a.yml", lambda n: f"{'' if n else 'list:' + chr(10)}  - item {n} word\n"),
    "objects of YAML": ("a.yml", lambda n: f"{'' if n else 'list:' + chr(10)}- id: i{n}\n  text: word\n"),
    "documents of YAML": ("a.yml", lambda n: f"---\nid: i{n}\ntext: word\n"),
    "keys of TOML": ("a.toml", lambda n: f'key{n} = "word {n}"\n'),
    "tables of TOML": ("a.toml", lambda n: f'[[list]]\nid = "i{n}"\ntext = "word" # comment\n'),
}
WHOLE: dict[str, tuple[str, Callable[[list[object]], str]]] = {
    "keys of JSON": ("a.json", lambda items: json.dumps({f"key{n}": item for n, item in enumerate(items)}, indent=1)),
    "objects of JSON": ("a.json", lambda items: json.dumps({"list": items}, indent=1)),
    "JSON in one line": ("a.json", lambda items: json.dumps({"list": items})),
}


def parts(size: int, part: Callable[[int], str]) -> list[str]:
    """Return parts of a text whose edits are not longer than the size."""
    result, length = [part(0)], 0
    while length + 2 * len(result[-1]) < size * 15 // 16:
        length += len(result[-1])
        result.append(part(len(result)))
    return result


def edited(items: list[str], word: str, first: int) -> list[str]:
    """Return the items with another word in every fiftieth one."""
    return [item.replace("word", word) if n % 50 == first else item for n, item in enumerate(items)]


def versions(name: str, size: int) -> tuple[str, list[bytes]]:
    """Return the path and the three versions of a file of about the size."""
    if name in PARTS:
        path, part = PARTS[name]
        items, end = parts(size, part), "---\n" if name == "keys of front matter" else ""
        sides = (items, edited(items, "mine", 1), edited(items, "theirs", 26))
        return path, ["".join([*side, end]).encode() for side in sides]
    path, write = WHOLE[name]
    words = ["a word and other text"] * (size // 72)
    sides = (words, edited(words, "mine", 1), edited(words, "theirs", 26))
    return path, [write([{"id": n, "text": word} for n, word in enumerate(side)]).encode() for side in sides]


def seconds(path: str, files: list[bytes]) -> tuple[float, str]:
    """Return the shortest processor time of some merges, and the outcome."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        result = merge_file(path, *files)
        times.append(time.process_time() - start)
    return min(times), "merged" if isinstance(result, MergedFile) else f"conflict ({result.conflicts[0].kind})"


class TestSizes:
    def test_times_of_merges_are_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = ["", "seconds at 64 KiB, 256 KiB and 1 MiB; time of 1 MiB per byte, as a multiple of that of 256 KiB"]
        for name in (*PARTS, *WHOLE):
            files = [versions(name, size) for size in SIZES]
            times = [seconds(*each) for each in files]
            lengths = [len(data[0]) for _, data in files]
            ratio = times[2][0] / times[1][0] / (lengths[2] / lengths[1])
            shown = "  ".join(f"{taken:.3f}" for taken, _ in times)
            lines.append(f"{name:22} {shown}  {ratio:4.1f}  {times[2][1]}")
            assert max(map(len, files[2][1])) <= SIZES[2], name
        with capsys.disabled():
            print("\n".join(lines))
