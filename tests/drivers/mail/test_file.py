"""Tests of the mail transport that writes files."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.drivers.errors import UpstreamUnavailable
from app.drivers.mail.file import FileMail
from tests.drivers.mail.contract import CODE, SENDER, MailTransportContract, Received
from tests.drivers.mail.received import as_received


class TestFileMail(MailTransportContract):
    @pytest.fixture
    def transport(self, tmp_path: Path) -> FileMail:
        self.folder = tmp_path / "outbox" / "mail"
        return FileMail(self.folder, sender=SENDER)

    def received(self) -> list[Received]:
        return [as_received(file.read_bytes()) for file in sorted(self.folder.glob("*"))]

    def test_message_is_one_eml_file_readable_by_its_owner_only(self, transport: FileMail) -> None:
        transport.send(CODE)
        (file,) = self.folder.iterdir()
        assert file.suffix == ".eml"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600

    def test_parallel_messages_are_all_stored_without_partial_files(self, transport: FileMail) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(transport.send, [CODE] * 40))
        assert len(self.received()) == len(list(self.folder.glob("*.eml"))) == 40
        assert len(list(self.folder.iterdir())) == 40

    def test_uncreatable_folder_raises_upstream_unavailable(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        with pytest.raises(UpstreamUnavailable):
            FileMail(tmp_path / "file" / "mail", sender=SENDER).send(CODE)
