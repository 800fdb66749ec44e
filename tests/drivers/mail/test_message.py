"""Tests of the composition of messages."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest

from app.drivers.errors import UpstreamRejected
from app.drivers.mail.port import compose
from tests.drivers.mail.contract import CODE, SENDER
from tests.drivers.mail.received import parse


class TestCompose:
    def test_compose_returns_text_and_html_as_alternatives(self) -> None:
        message = parse(compose(CODE, sender=SENDER).as_bytes())
        parts = [part.get_content_type() for part in message.walk()]
        assert parts == ["multipart/alternative", "text/plain", "text/html"]

    def test_compose_keeps_the_html(self) -> None:
        html = parse(compose(CODE, sender=SENDER).as_bytes()).get_body(("html",))
        assert html is not None
        assert html.get_content().strip() == CODE.html

    def test_compose_returns_ascii_bytes_for_any_text(self) -> None:
        assert compose(CODE, sender="Gälley <no-reply@galley.example.org>").as_bytes().isascii()

    def test_compose_encodes_domains_as_idna(self) -> None:
        mail = replace(CODE, to="ada@bücher.example")
        content = compose(mail, sender="Gälley <no-reply@exämple.org>").as_bytes()
        assert content.isascii()
        message = parse(content)
        assert message["To"] == "ada@xn--bcher-kva.example"
        assert message["From"] == "Gälley <no-reply@xn--exmple-cua.org>"
        assert message["Message-ID"].endswith("@xn--exmple-cua.org>")

    @pytest.mark.parametrize(
        "address", ["jürgen@example.org, eve@example.org", "jürgen@example.org\r\nBcc: x@y.org", "jü"]
    )
    def test_compose_with_an_invalid_address_raises_upstream_rejected(self, address: str) -> None:
        with pytest.raises(UpstreamRejected):
            compose(replace(CODE, to=address), sender=SENDER)

    def test_compose_sets_a_unique_message_id_with_the_domain_of_the_sender(self) -> None:
        ids = {str(compose(CODE, sender=SENDER)["Message-ID"]) for _ in range(20)}
        assert len(ids) == 20
        assert all(known.endswith("@galley.example.org>") for known in ids)

    def test_compose_sets_the_present_date(self) -> None:
        date = parsedate_to_datetime(str(compose(CODE, sender=SENDER)["Date"]))
        assert abs(datetime.now(UTC) - date) < timedelta(seconds=5)

    def test_compose_sets_auto_submitted(self) -> None:
        assert compose(CODE, sender=SENDER)["Auto-Submitted"] == "auto-generated"
