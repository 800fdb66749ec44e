"""Tests of packed trees: one gzip member with any start, and detection of damage."""

import gzip
import subprocess
from typing import Any

import orjson
import pytest

from app.resources.project_content.tree import packed_tree

START = b'{"result":{"total":3,"files":['


def files(count: int) -> list[dict[str, Any]]:
    return [{"path": f"content/{n}-\u00e4.md", "size": n, "sha": f"{n * 7919:040x}"} for n in range(count)]


def packed_tree_of(entries: list[dict[str, Any]], part: int = 300) -> bytes:
    parts = [packed_tree.pack(entries[start : start + part]) for start in range(0, len(entries), part)]
    return packed_tree.join(parts)


class TestPacking:
    @pytest.mark.parametrize("count", [0, 1, 2, 1_000])
    @pytest.mark.parametrize("start", [START, START.replace(b"3", b'"%s"' % (b"3" * 5_000))], ids=["short", "long"])
    def test_any_start_and_the_packed_files_form_one_response(self, count: int, start: bytes) -> None:
        packed = packed_tree_of(files(count))
        plain = packed_tree.plain(start, packed)
        assert orjson.loads(plain)["result"]["files"] == files(count)
        answer = packed_tree.to_gzip(start, packed)
        assert gzip.decompress(answer) == plain
        assert subprocess.run(["gzip", "-dc"], input=answer, capture_output=True, check=True).stdout == plain

    def test_parts_of_any_size_form_the_same_plain_bytes(self) -> None:
        plain = {packed_tree.plain(START, packed_tree_of(files(50), part)) for part in (1, 7, 50)}
        assert len(plain) == 1

    def test_is_valid_of_damaged_bytes_is_false(self) -> None:
        data = packed_tree_of(files(100))
        assert packed_tree.is_valid(data)
        assert not any(packed_tree.is_valid(data[:end]) for end in range(0, len(data), 7))
        for place in range(0, len(data) - 16, 11):
            assert not packed_tree.is_valid(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
