"""Contract tests of mail transports. Each subclass builds its transport and reads the sent mail."""

from dataclasses import dataclass

import pytest

from app.drivers.errors import UpstreamRejected
from app.drivers.mail.port import Mail, MailTransport

SENDER = "Galley <no-reply@galley.example.org>"
CODE = Mail("ada@mail.example.org", "Your code", "Your code is 123456.", "<p>Your code is <b>123456</b>.</p>")


@dataclass(frozen=True)
class Received:
    """A received message."""

    sender: str
    to: str
    subject: str
    text: str


class MailTransportContract:
    """Subclasses define the fixture `transport` and `received`."""

    @pytest.fixture
    def transport(self) -> MailTransport:
        raise AssertionError("say how to build the transport")

    def received(self) -> list[Received]:
        raise AssertionError("say how to read what was delivered")

    def test_message_has_sender_recipient_subject_and_text(self, transport: MailTransport) -> None:
        transport.send(CODE)
        assert self.received() == [Received(SENDER, CODE.to, CODE.subject, CODE.text)]

    def test_non_ascii_letters_and_long_lines_are_unchanged(self, transport: MailTransport) -> None:
        mail = Mail(CODE.to, "Grüße – добро пожаловать " * 4, "Straße 你好 = " * 90, "<p>Straße</p>")
        transport.send(mail)
        (received,) = self.received()
        assert received.subject.strip() == mail.subject.strip()
        assert received.text.strip() == mail.text.strip()

    @pytest.mark.parametrize(
        ("to", "told"),
        [("ada@bücher.example", "ada@xn--bcher-kva.example"), ("jürgen@example.org", "jürgen@example.org")],
    )
    def test_non_ascii_address_receives_the_message(self, transport: MailTransport, to: str, told: str) -> None:
        transport.send(Mail(to, CODE.subject, CODE.text, CODE.html))
        assert [received.to for received in self.received()] in ([told], [to])

    def test_messages_arrive_in_order(self, transport: MailTransport) -> None:
        subjects = [f"Number {number}" for number in range(12)]
        for subject in subjects:
            transport.send(Mail(CODE.to, subject, "x", "<p>x</p>"))
        assert [mail.subject for mail in self.received()] == subjects

    @pytest.mark.parametrize(
        "mail",
        [
            Mail(CODE.to, "Hello\r\nBcc: eve@example.org", "x", "x"),
            Mail(CODE.to, "Hello\nX: y", "x", "x"),
            Mail("ada@example.org\r\nBcc: eve@example.org", "Hello", "x", "x"),
            Mail("ada@example.org, eve@example.org", "Hello", "x", "x"),
            Mail("", "Hello", "x", "x"),
        ],
        ids=["CRLF in the subject", "LF in the subject", "CRLF in the address", "two addresses", "no address"],
    )
    def test_header_injection_is_rejected_and_not_delivered(self, transport: MailTransport, mail: Mail) -> None:
        with pytest.raises(UpstreamRejected):
            transport.send(mail)
        assert self.received() == []
