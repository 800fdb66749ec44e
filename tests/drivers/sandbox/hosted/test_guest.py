"""Tests of the guest program of hosted sandboxes: unpacking with and without the filter of tarfile."""

import io
import tarfile
from pathlib import Path

import pytest

from app.drivers.sandbox.hosted import guest


@pytest.fixture(params=["filtering", "older"])
def interpreter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parametrize with and without `tarfile.data_filter`, which older versions of Python lack."""
    if request.param == "older":
        monkeypatch.setattr(tarfile.TarFile, "extraction_filter", staticmethod(tarfile.fully_trusted_filter))
        monkeypatch.delattr(tarfile, "data_filter")


@pytest.mark.usefixtures("interpreter")
class TestUnpack:
    def test_files_and_links_within_the_site_are_unpacked(self, tmp_path: Path) -> None:
        guest.unpack(tar(("a/b.md", "text"), ("c.md", None, "a/b.md"), ("a/up.md", None, "../c.md")), tmp_path)
        assert [(tmp_path / name).read_text() for name in ("a/b.md", "c.md", "a/up.md")] == ["text"] * 3

    @pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "a/../../outside"])
    def test_link_out_of_the_site_is_skipped(self, tmp_path: Path, target: str) -> None:
        guest.unpack(tar(("a/b.md", "text"), ("link", None, target)), tmp_path / "site")
        assert (tmp_path / "site/a/b.md").read_text() == "text"
        assert not (tmp_path / "site/link").is_symlink()

    @pytest.mark.parametrize("name", ["../outside", "/outside", "a/../../outside"])
    def test_name_out_of_the_site_is_skipped(self, tmp_path: Path, name: str) -> None:
        guest.unpack(tar((name, "text"), ("b.md", "text")), tmp_path / "site")
        assert sorted(tmp_path.rglob("*")) == [tmp_path / "site", tmp_path / "site/b.md"]

    def test_file_below_a_link_out_of_the_site_is_skipped(self, tmp_path: Path) -> None:
        site = tmp_path / "site"
        site.mkdir()
        (site / "out").symlink_to(tmp_path)
        guest.unpack(tar(("out/escaped", "text")), site)
        assert not (tmp_path / "escaped").exists()


def tar(*members: tuple[str, str | None] | tuple[str, str | None, str]) -> tarfile.TarFile:
    """Return an archive of files (name, text) and symbolic links (name, None, target)."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text, *target in members:
            info = tarfile.TarInfo(name)
            if text is None:
                info.type, info.linkname = tarfile.SYMTYPE, target[0]
            info.size = len(text or "")
            archive.addfile(info, io.BytesIO((text or "").encode()))
    packed.seek(0)
    return tarfile.open(fileobj=packed)
