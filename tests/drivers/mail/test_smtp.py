"""Tests of the SMTP transport with servers on loopback."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope

from app.drivers.errors import UpstreamRejected, UpstreamTimeout, UpstreamUnavailable
from app.drivers.mail.port import Mail
from app.drivers.mail.smtp import SmtpMail
from tests.drivers.mail.contract import CODE, SENDER, MailTransportContract, Received
from tests.drivers.mail.received import as_received
from tests.support.doubles.certificates import self_signed
from tests.support.servers.ports import free_port

USER, PASSWORD = "galley@relay", "p@ss:w/rd"


class Inbox:
    """An SMTP handler that stores received messages, or replies with `refusal`."""

    def __init__(self, refusal: str = "") -> None:
        self.refusal = refusal
        self.contents: list[bytes] = []
        self.encrypted: list[bool] = []
        self.users: list[object] = []

    async def handle_RCPT(
        self, _server: SMTP, _session: Any, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if self.refusal.startswith("RCPT "):
            return self.refusal.removeprefix("RCPT ")
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_MAIL(
        self, _server: SMTP, _session: Any, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if self.refusal.startswith("MAIL "):
            return self.refusal.removeprefix("MAIL ")
        envelope.mail_from = address
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Any, envelope: Envelope) -> str:
        if self.refusal:
            return self.refusal
        assert isinstance(envelope.content, bytes)
        self.contents.append(envelope.content)
        self.encrypted.append(server.transport.get_extra_info("sslcontext") is not None)
        self.users.append(session.login_data)
        return "250 OK"


@contextmanager
def serving(inbox: Inbox, *, implicit: ssl.SSLContext | None = None, **options: Any) -> Iterator[int]:
    """Serve on a free loopback port."""
    port = free_port()
    controller = Controller(inbox, hostname="127.0.0.1", port=port, ssl_context=implicit, **options)
    controller.start()
    try:
        yield port
    finally:
        controller.stop()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls") / "server.pem")


@pytest.fixture
def server_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def client_tls(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate))


def transport_to(port: int, scheme: str = "smtp", login: str = "", **options: Any) -> SmtpMail:
    return SmtpMail(f"{scheme}://{login}127.0.0.1:{port}", sender=SENDER, **options)


class TestSmtpMail(MailTransportContract):
    @pytest.fixture
    def transport(self) -> Iterator[SmtpMail]:
        self.inbox = Inbox()
        with serving(self.inbox) as port:
            yield transport_to(port)

    def received(self) -> list[Received]:
        return [as_received(content) for content in self.inbox.contents]


class TestTls:
    def test_offered_starttls_is_used(self, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
        inbox = Inbox()
        with serving(inbox, tls_context=server_tls) as port:
            transport_to(port, context=client_tls).send(CODE)
        assert inbox.encrypted == [True]

    def test_smtps_speaks_tls_from_the_first_byte(self, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
        inbox = Inbox()
        with serving(inbox, implicit=server_tls) as port:
            transport_to(port, "smtps", context=client_tls).send(CODE)
        assert inbox.encrypted == [True]

    def test_untrusted_certificate_raises_unavailable_before_sending(self, server_tls: ssl.SSLContext) -> None:
        inbox = Inbox()
        with (
            serving(inbox, tls_context=server_tls) as port,
            pytest.raises(UpstreamUnavailable, match="certificate of the mail relay is not trusted"),
        ):
            transport_to(port).send(CODE)
        assert inbox.contents == []

    def test_untrusted_certificate_of_smtps_is_reported_as_that(self, server_tls: ssl.SSLContext) -> None:
        with (
            serving(Inbox(), implicit=server_tls) as port,
            pytest.raises(UpstreamUnavailable, match=r"certificate of the mail relay is not trusted: self.signed"),
        ):
            transport_to(port, "smtps").check()

    def test_smtps_to_a_port_without_tls_is_reported_as_that(self) -> None:
        with serving(Inbox()) as port, pytest.raises(UpstreamUnavailable, match="TLS"):
            transport_to(port, "smtps").check()


class TestSignIn:
    LOGIN = "galley%40relay:p%40ss%3Aw%2Frd@"

    def test_user_and_password_of_the_url_are_used(
        self, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
    ) -> None:
        inbox, seen = Inbox(), []

        def authenticate(_server: object, _session: object, _envelope: object, _kind: str, data: Any) -> AuthResult:
            seen.append((data.login.decode(), data.password.decode()))
            return AuthResult(success=True)

        with serving(inbox, tls_context=server_tls, authenticator=authenticate) as port:
            transport_to(port, login=self.LOGIN, context=client_tls).send(CODE)

        assert seen == [(USER, PASSWORD)]
        assert len(inbox.contents) == 1

    def test_refused_sign_in_raises_unavailable_without_the_password(
        self, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
    ) -> None:
        refuse = lambda *_: AuthResult(success=False, handled=False)  # noqa: E731
        with (
            serving(Inbox(), tls_context=server_tls, authenticator=refuse) as port,
            pytest.raises(UpstreamUnavailable) as refused,
        ):
            transport_to(port, login=self.LOGIN, context=client_tls).send(CODE)
        assert PASSWORD not in str(refused.value)

    def test_non_ascii_password_raises_upstream_unavailable(self) -> None:
        accept = lambda *_: AuthResult(success=True)  # noqa: E731
        with (
            serving(Inbox(), auth_require_tls=False, authenticator=accept) as port,
            pytest.raises(UpstreamUnavailable, match="characters"),
        ):
            transport_to(port, login="galley:w%C3%B6rd@").send(CODE)

    def test_relay_without_sign_in_raises_unavailable_and_names_it(self) -> None:
        with serving(Inbox()) as port:
            for call in (lambda relay: relay.check(), lambda relay: relay.send(CODE)):
                with pytest.raises(UpstreamUnavailable, match="offers no sign-in"):
                    call(transport_to(port, login=self.LOGIN))

    def test_relay_without_a_supported_method_raises_unavailable_and_names_it(self) -> None:
        methods = {"auth_exclude_mechanism": ("LOGIN", "PLAIN"), "auth_require_tls": False}
        relay = type("OwnMethod", (Inbox,), {"auth_OWN": lambda *_: AuthResult(success=True)})()
        accept = lambda *_: AuthResult(success=True)  # noqa: E731
        with (
            serving(relay, authenticator=accept, **methods) as port,
            pytest.raises(UpstreamUnavailable, match="offers no sign-in"),
        ):
            transport_to(port, login=self.LOGIN).send(CODE)

    def test_relay_that_requires_a_sign_in_raises_unavailable_and_names_it(self) -> None:
        with serving(Inbox("MAIL 530 5.7.0 Authentication required")) as port:
            for call in (lambda relay: relay.check(), lambda relay: relay.send(CODE)):
                with pytest.raises(UpstreamUnavailable, match="requires a sign-in"):
                    call(transport_to(port))


class TestFailures:
    def test_closed_port_raises_upstream_unavailable(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            with pytest.raises(UpstreamUnavailable):
                transport_to(taken.getsockname()[1]).send(CODE)

    def test_silent_relay_raises_upstream_timeout(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(UpstreamTimeout):
            transport_to(silent.getsockname()[1], timeout_s=0.2).send(CODE)

    @pytest.mark.parametrize("refusal", ["RCPT 550 no such user", "554 spam"])
    def test_permanent_refusal_raises_upstream_rejected(self, refusal: str) -> None:
        with serving(Inbox(refusal)) as port, pytest.raises(UpstreamRejected):
            transport_to(port).send(CODE)

    @pytest.mark.parametrize("refusal", ["MAIL 550 sender unknown", "MAIL 553 5.7.1 not owned by user"])
    def test_refused_sender_raises_unavailable_and_names_the_setting(self, refusal: str) -> None:
        with serving(Inbox(refusal)) as port:
            for call in (lambda relay: relay.check(), lambda relay: relay.send(CODE)):
                with pytest.raises(UpstreamUnavailable, match="MAIL_FROM"):
                    call(transport_to(port))

    @pytest.mark.parametrize("greeting", [b"554 no service here\r\n", b"421 too many connections\r\n"])
    def test_refused_connection_raises_unavailable(self, greeting: bytes) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:

            def refuse() -> None:
                with server.accept()[0] as connection:
                    connection.sendall(greeting)
                    connection.recv(1024)

            thread = threading.Thread(target=refuse)
            thread.start()
            with pytest.raises(UpstreamUnavailable):
                transport_to(server.getsockname()[1]).send(CODE)
            thread.join(60)

    @pytest.mark.parametrize("refusal", ["RCPT 450 greylisted", "451 later", "MAIL 452 full"])
    def test_temporary_refusal_raises_upstream_unavailable(self, refusal: str) -> None:
        with serving(Inbox(refusal)) as port, pytest.raises(UpstreamUnavailable):
            transport_to(port).send(CODE)

    def test_non_ascii_address_without_smtputf8_raises_upstream_rejected(self) -> None:
        with serving(Inbox(), enable_SMTPUTF8=False) as port, pytest.raises(UpstreamRejected):
            transport_to(port).send(Mail("jürgen@example.org", "Hello", "x", "<p>x</p>"))

    def test_non_ascii_domain_is_sent_as_idna(self) -> None:
        inbox = Inbox()
        with serving(inbox, enable_SMTPUTF8=False) as port:
            transport_to(port).send(Mail("ada@bücher.example", "Hello", "x", "<p>x</p>"))
        assert as_received(inbox.contents[0]).to == "ada@xn--bcher-kva.example"
