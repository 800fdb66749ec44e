"""Packed trees: one gzip member whatever stands in front, and damage is told."""

import gzip
import subprocess
from typing import Any

import orjson
import pytest

from app.resources.project_content import packing

START = b'{"result":{"total":3,"files":['


def files(count: int) -> list[dict[str, Any]]:
    return [{"path": f"content/{n}-\u00e4.md", "size": n, "sha": f"{n * 7919:040x}"} for n in range(count)]


class TestPacking:
    @pytest.mark.parametrize("count", [0, 1, 2, 1_000])
    @pytest.mark.parametrize("start", [START, START.replace(b"3", b'"%s"' % (b"3" * 5_000))], ids=["short", "long"])
    def test_any_beginning_and_the_packed_files_are_one_whole_answer(self, count: int, start: bytes) -> None:
        packed = packing.pack(files(count))
        plain = packing.plain(start, packed.data)
        assert orjson.loads(plain)["result"]["files"] == files(count)
        answer = packing.gzipped(start, packed.data)
        assert gzip.decompress(answer) == plain
        assert subprocess.run(["gzip", "-dc"], input=answer, capture_output=True, check=True).stdout == plain

    def test_equal_lists_have_one_address_and_others_another(self) -> None:
        assert packing.pack(files(50)).address == packing.pack(iter(files(50))).address
        assert len({packing.pack(files(n)).address for n in range(20)}) == 20

    def test_damage_anywhere_is_noticed(self) -> None:
        data = packing.pack(files(100)).data
        assert packing.is_sound(data)
        assert not any(packing.is_sound(data[:end]) for end in range(0, len(data), 7))
        for place in range(0, len(data) - 16, 11):
            assert not packing.is_sound(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
