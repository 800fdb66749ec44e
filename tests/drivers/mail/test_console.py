"""Tests of the mail transport that prints."""

import io

import pytest

from app.drivers.mail.console import RULE, ConsoleMail
from tests.drivers.mail.contract import CODE, SENDER, MailTransportContract, Received


class TestConsoleMail(MailTransportContract):
    @pytest.fixture
    def transport(self) -> ConsoleMail:
        self.out = io.StringIO()
        return ConsoleMail(sender=SENDER, out=self.out)

    def received(self) -> list[Received]:
        printed = [part.strip("\n") for part in self.out.getvalue().split(RULE)]
        return [_read(part) for part in printed if part]

    def test_console_mail_without_a_stream_prints_to_standard_output(self, capsys: pytest.CaptureFixture[str]) -> None:
        ConsoleMail(sender=SENDER).send(CODE)
        assert "Your code is 123456." in capsys.readouterr().out


def _read(printed: str) -> Received:
    head, text = printed.split("\n\n", 1)
    values = dict(line.split(": ", 1) for line in head.splitlines())
    return Received(values["From"], values["To"], values["Subject"], text)
