"""Tests of the mail job and of the deletion of expired rows."""

from datetime import timedelta

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core.jobs import PermanentFailure
from app.drivers.errors import UpstreamRejected, UpstreamUnavailable
from app.drivers.mail.port import Mail
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import CodePurpose, LoginAttempt, OneTimeCode, Session
from app.models.request import IdempotencyKey
from app.resources.system import jobs, retention
from tests.support.world import World


class Outbox:
    """A transport that records mail or raises `fault`."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.sent: list[Mail] = []
        self.fault = fault

    def send(self, mail: Mail) -> None:
        if self.fault is not None:
            raise self.fault
        self.sent.append(mail)


class TestSend:
    def test_mail_is_written_in_the_given_language(self) -> None:
        outbox = Outbox()
        jobs.send(to="a@mail.example.org", template="account_deleted", language="de", name="Ada", mail=outbox)
        assert (outbox.sent[0].to, outbox.sent[0].subject) == ("a@mail.example.org", "Ihr Konto wurde gelöscht")

    @pytest.mark.parametrize(
        ("template", "fault"), [("no_such_mail", None), ("account_deleted", UpstreamRejected("no"))]
    )
    def test_permanent_error_raises_permanent_failure(self, template: str, fault: Exception | None) -> None:
        with pytest.raises(PermanentFailure):
            jobs.send(to="a@mail.example.org", template=template, name="Ada", mail=Outbox(fault))

    def test_unavailable_relay_raises_a_retriable_error(self) -> None:
        with pytest.raises(UpstreamUnavailable):
            jobs.send(
                to="a@mail.example.org",
                template="account_deleted",
                name="Ada",
                mail=Outbox(UpstreamUnavailable("away")),
            )


class TestPurge:
    def test_purge_deletes_expired_rows_and_no_others(self, app: Flask, world: World) -> None:
        person, now = world.person(), utcnow_ms()
        old, young = now - timedelta(days=2), now + timedelta(days=1)
        with app.app_context():
            for word, end in (("old", old), ("young", young)):
                db.session.add_all(self._rows(person.id, f"{word}-{person.id}", end, updated_at=min(end, now)))
            db.session.commit()
            assert jobs.purge() >= 5
            assert self._remaining(person.id) == {"sessions": 2, "codes": 1, "attempts": 1, "answers": 1}

    @staticmethod
    def _rows(user_id: str, word: str, end, *, updated_at) -> list[object]:
        session = {"user_id": user_id, "last_seen_at": end, "expires_at": end + timedelta(days=30)}
        state = {"browser_hash": "b", "provider": "social_a", "callback_url": "/", "user_id": user_id}
        return [
            Session(token_hash=f"idle-{word}"[:64], **session | {"idle_expires_at": end}),
            OneTimeCode(email_key=word, purpose=CodePurpose.VERIFY_EMAIL, user_id=user_id, updated_at=updated_at),
            LoginAttempt(state_hash=f"s-{word}"[:64], expires_at=end, **state),
            IdempotencyKey(user_id=user_id, route="POST /", key=word, request_hash="h", expires_at=end),
        ] + (
            [Session(token_hash=f"x-{word}"[:64], **session | {"idle_expires_at": end, "expires_at": end})]
            if "old" in word
            else []
        )

    @staticmethod
    def _remaining(user_id: str) -> dict[str, int]:
        def count(model) -> int:
            return db.session.scalar(sa.select(sa.func.count()).select_from(model).where(model.user_id == user_id)) or 0

        return {
            "sessions": count(Session),
            "codes": count(OneTimeCode),
            "attempts": count(LoginAttempt),
            "answers": count(IdempotencyKey),
        }

    def test_purge_deletes_more_rows_than_one_batch(self, app: Flask, world: World) -> None:
        person, end = world.person(), utcnow_ms() - timedelta(days=1)
        with app.app_context():
            db.session.add_all(
                LoginAttempt(
                    state_hash=f"{n}{person.id}", browser_hash="b", provider="social_a", callback_url="/",
                    user_id=person.id, expires_at=end,
                )
                for n in range(10)
            )  # fmt: skip
            db.session.commit()
            retention.purge(LoginAttempt, LoginAttempt.user_id == person.id, batch_size=3)
            assert self._remaining(person.id)["attempts"] == 0
