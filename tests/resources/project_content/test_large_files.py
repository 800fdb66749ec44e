"""Tests of saves, edits, drafts and raw reads of large files, byte for byte. `make test` patches them with gevent."""

import base64
import random
from typing import Any

import orjson
import pytest

from app.drivers.git.object_ids import blob_sha
from tests.resources.project_content.conftest import Site, make_site
from tests.support.world import World

pytestmark = [pytest.mark.slow, pytest.mark.one_database]

KIB, MIB = 1024, 1024 * 1024
BODY_OVERHEAD = 512
SIZES = {"1 KiB": KIB, "70 KiB": 70 * KIB, "5 MiB": 5 * MIB, "25 MiB": 25 * MIB - BODY_OVERHEAD}


def text_of(size: int, *, seed: int = 1) -> str:
    """Return ASCII text of that many bytes whose lines differ."""
    lines = [f"{number:060x} {seed}\n" for number in range(size // 60 + 1)]
    return "".join(lines)[:size]


def create(path: str, content: str, encoding: str = "utf-8") -> dict[str, Any]:
    return {"path": path, "action": "create", "content": content, "encoding": encoding}


def save(site: Site, path: str, content: bytes, encoding: str) -> str:
    """Commit a new file and return its Git hash. During the request the test holds the JSON body only."""
    sha = blob_sha(content)
    text = content.decode() if encoding == "utf-8" else base64.b64encode(content).decode()
    del content
    body = orjson.dumps({"message": "Edit", "base_sha": site.repo.head(), "files": [create(path, text, encoding)]})
    del text
    site.owner.post(site.path("/commit"), data=body, content_type="application/json").ok(201)
    return sha


class TestCommit:
    @pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
    def test_text_of_one_file_is_written_and_read_byte_for_byte(self, site: Site, size: int) -> None:
        # Each line end takes two bytes in JSON.
        sha = save(site, "large.md", text_of(size * 7 // 8).encode(), "utf-8")
        assert blob_sha(site.repo.show("large.md")) == sha
        raw = site.owner.get(site.path("/raw"), query_string={"file": "large.md"})
        assert blob_sha(raw.response.data) == sha

    @pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
    def test_base64_of_one_file_is_written_and_read_byte_for_byte(self, site: Site, size: int) -> None:
        sha = save(site, "large.bin", random.Random(size).randbytes(size * 3 // 4 - KIB // 2), "base64")
        assert blob_sha(site.repo.show("large.bin")) == sha
        raw = site.owner.get(site.path("/raw"), query_string={"file": "large.bin"})
        assert blob_sha(raw.response.data) == sha

    @pytest.mark.parametrize("encoding", ["utf-8", "base64"])
    def test_300_files_of_16_mib_are_one_commit_byte_for_byte(self, site: Site, encoding: str) -> None:
        files = {f"content/{number}.md": text_of(55_000, seed=number) for number in range(300)}
        encode = {"utf-8": str, "base64": lambda text: base64.b64encode(text.encode()).decode()}[encoding]
        blobs = {path: blob_sha(text.encode()) for path, text in files.items()}
        before = len(site.repo.commits())
        site.commit(*(create(path, encode(text), encoding) for path, text in files.items())).ok(201)
        entries = site.repo.entries()
        assert {path: entries[path][2] for path in files} == blobs
        assert len(site.repo.commits()) == before + 1

    def test_update_of_a_large_file_is_written_byte_for_byte(self, world: World) -> None:
        site = make_site(world, {"large.md": text_of(20 * MIB).encode()})
        content = text_of(20 * MIB, seed=2)
        site.commit({"path": "large.md", "action": "update", "content": content}).ok(201)
        assert site.repo.show("large.md") == content.encode()


class TestFrontMatter:
    @pytest.mark.parametrize("size", [70 * KIB, MIB, 5 * MIB - KIB])
    def test_edit_of_a_large_file_changes_the_key_only(self, world: World, size: int) -> None:
        text = text_of(size)
        site = make_site(world, {"post.md": f"---\ntitle: Old\n---\n{text}".encode()})
        body = {"file": "post.md", "base_sha": site.repo.head(), "set": {"title": "New"}}
        site.owner.patch(site.path("/front-matter"), body).ok()
        assert site.repo.show("post.md") == f"---\ntitle: New\n---\n{text}".encode()


class TestDraft:
    @pytest.mark.parametrize("size", [70 * KIB, 900_000])
    def test_draft_is_stored_and_read_as_typed(self, site: Site, size: int) -> None:
        path, content = f"/project-draft/{site.project}?file=content/about.md", text_of(size)
        site.owner.put(path, {"content": content}).ok()
        assert site.owner.get(path).ok()["content"] == content


class TestRawRead:
    def test_raw_read_of_25_mib_returns_the_bytes(self, world: World) -> None:
        content = random.Random(25).randbytes(25 * MIB)
        site = make_site(world, {"video.bin": content})
        raw = site.owner.get(site.path("/raw"), query_string={"file": "video.bin"})
        assert raw.response.data == content
