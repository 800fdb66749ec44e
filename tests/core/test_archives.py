"""Tests of the reader of uploaded archives, with hostile archives."""

import gzip
import io
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable

import pytest

from app.core.archives import ArchiveLimits, ArchiveRefused, read_archive

FILES = {"content/a.md": b"A\n", "static/b.bin": bytes(range(256))}


def zipped(files: dict[str, bytes], mode: int = 0, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive whose entries have a Unix mode."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.filename, entry.external_attr, entry.compress_type = name, mode << 16, method
            archive.writestr(entry, content)
    return buffer.getvalue()


def tarred(files: dict[str, bytes], kind: bytes = tarfile.REGTYPE, target: str = "", mode: str = "w:gz") -> bytes:
    """Return a tar archive whose entries have a type and, for links, a target."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.size = kind, target, len(content) if kind == tarfile.REGTYPE else 0
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


ARCHIVES: list[Callable[[dict[str, bytes]], bytes]] = [zipped, tarred, lambda files: tarred(files, mode="w:")]
PATHS = (
    *("/etc/passwd", "../up.md", "a/../../up.md", "a//b.md", "./../x", "C:\\x.md", "a\\..\\b", ".git/config"),
    *("a/.GIT/hooks/post-checkout", "line\nbreak.md", "a/" * 600 + "b", "\u202emd.exe", "a" * 300),
)


class TestAccepted:
    @pytest.mark.parametrize("pack", ARCHIVES)
    def test_files_are_read(self, pack: Callable[[dict[str, bytes]], bytes]) -> None:
        assert read_archive(pack(FILES)) == FILES

    @pytest.mark.parametrize("pack", ARCHIVES)
    def test_single_folder_is_removed(self, pack: Callable[[dict[str, bytes]], bytes]) -> None:
        packed = pack({f"site-main/{name}": content for name, content in FILES.items()})
        assert read_archive(packed) == FILES

    def test_folders_and_files_of_macos_are_ignored(self) -> None:
        extra = {"content/": b"", "__MACOSX/content/._a.md": b"x", "content/.DS_Store": b"x"}
        assert read_archive(zipped(FILES | extra)) == FILES


@pytest.mark.parametrize("pack", ARCHIVES)
class TestPaths:
    @pytest.mark.parametrize("path", PATHS)
    def test_invalid_path_is_refused(self, pack: Callable[[dict[str, bytes]], bytes], path: str) -> None:
        with pytest.raises(ArchiveRefused):
            read_archive(pack(FILES | {path: b"x"}))

    @pytest.mark.parametrize(
        "paths",
        [("Readme.md", "README.md"), ("a/x.md", "A/y.md"), ("a", "a/b"), ("A/b", "a"), ("e\u0301.md", "\u00e9.md")],
    )
    def test_colliding_paths_are_refused(
        self, pack: Callable[[dict[str, bytes]], bytes], paths: tuple[str, str]
    ) -> None:
        with pytest.raises(ArchiveRefused, match="two entries"):
            read_archive(pack(FILES | dict.fromkeys(paths, b"x")))

    def test_too_many_files_are_refused(self, pack: Callable[[dict[str, bytes]], bytes]) -> None:
        with pytest.raises(ArchiveRefused, match="more than 3 files"):
            read_archive(pack({f"{number}.md": b"" for number in range(4)}), ArchiveLimits(files=3))

    def test_archive_without_a_file_is_refused(self, pack: Callable[[dict[str, bytes]], bytes]) -> None:
        with pytest.raises(ArchiveRefused):
            read_archive(pack({}))

    def test_truncated_archive_is_refused(self, pack: Callable[[dict[str, bytes]], bytes]) -> None:
        packed = pack({"a.bin": bytes(range(256)) * 40})
        for size in range(20, min(len(packed) - 20, 10_000), 97):
            with pytest.raises(ArchiveRefused):
                read_archive(packed[:size])


def test_same_name_twice_is_refused() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for _ in range(2):
            archive.addfile(tarfile.TarInfo("a.md"))
    with pytest.raises(ArchiveRefused, match="two entries"):
        read_archive(buffer.getvalue())


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_link_or_device_in_a_tar_archive_is_refused(kind: bytes) -> None:
    with pytest.raises(ArchiveRefused, match="links and devices"):
        read_archive(tarred({"a": b""}, kind, "/etc/passwd"))


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_link_or_device_in_a_zip_archive_is_refused(mode: int) -> None:
    with pytest.raises(ArchiveRefused, match="links and devices"):
        read_archive(zipped({"a": b"/etc/passwd"}, mode | 0o777))


class TestSizes:
    LIMITS = ArchiveLimits(size_bytes=100_000)

    def test_zip_bomb_is_refused(self) -> None:
        with pytest.raises(ArchiveRefused, match="too large"):
            read_archive(zipped({"a": bytes(1_000_000)}), self.LIMITS)

    def test_zip_entry_with_a_false_size_is_refused(self) -> None:
        packed = zipped({"a": bytes(1_000_000)}).replace(struct.pack("<L", 1_000_000), struct.pack("<L", 10))
        with pytest.raises(ArchiveRefused):
            read_archive(packed, self.LIMITS)

    def test_sizes_of_all_entries_count(self) -> None:
        with pytest.raises(ArchiveRefused, match="too large"):
            read_archive(zipped({name: bytes(60_000) for name in "ab"}), self.LIMITS)

    def test_tar_bomb_is_refused(self) -> None:
        with pytest.raises(ArchiveRefused, match="too large"):
            read_archive(tarred({"a": bytes(1_000_000)}), self.LIMITS)

    def test_large_header_of_a_tar_archive_is_refused(self) -> None:
        header = tarfile.TarInfo("././@LongLink")
        header.type, header.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
        with pytest.raises(ArchiveRefused):
            read_archive(gzip.compress(header.tobuf() + bytes(1_000_000)), self.LIMITS)

    def test_chain_of_tar_headers_is_refused(self) -> None:
        header = tarfile.TarInfo("././@LongLink")
        header.type, header.size = tarfile.GNUTYPE_LONGNAME, 0
        with pytest.raises(ArchiveRefused):
            read_archive(gzip.compress(header.tobuf() * 5_000))

    def test_long_directory_of_a_zip_archive_is_refused_before_it_is_read(self) -> None:
        with pytest.raises(ArchiveRefused, match="more than"):
            read_archive(b"PK\x03\x04" + b"PK\x01\x02" * 50, ArchiveLimits(files=10))


def test_encrypted_entry_is_refused() -> None:
    packed = bytearray(zipped({"a": b"x"}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(signature) + offset] |= 1
    with pytest.raises(ArchiveRefused, match="encrypted"):
        read_archive(bytes(packed))


def test_other_compression_is_refused() -> None:
    with pytest.raises(ArchiveRefused, match="compression"):
        read_archive(zipped({"a": b"x"}, method=zipfile.ZIP_LZMA))


@pytest.mark.parametrize("data", [b"", b"x", b"%PDF-1.7", b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c"])
def test_other_file_is_refused(data: bytes) -> None:
    with pytest.raises(ArchiveRefused):
        read_archive(data)
