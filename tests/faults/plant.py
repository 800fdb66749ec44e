"""The service as a plant: web server and worker, and a fault proxy in front of everything they depend on."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest
import redis
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope

from app import create_app
from app.extensions import db
from config import Settings
from tests.doubles.fault_proxy import FaultProxy
from tests.faults.postgres import Cluster
from tests.faults.small_plant import working
from tests.servers.ports import free_port
from tests.servers.redis import Redis
from tests.servers.s3 import BUCKET, S3Server
from tests.servers.service import Service
from tests.world import World

METRICS_TOKEN = secrets.token_hex(16)


class Letterbox:
    """What the mail server took."""

    def __init__(self) -> None:
        self.letters: list[tuple[str, EmailMessage]] = []

    async def handle_DATA(self, _server: object, _session: object, envelope: Envelope) -> str:
        """Keep a letter."""
        content = envelope.original_content or b""
        self.letters += [(address, message_from_bytes(content, policy=policy.default)) for address in envelope.rcpt_tos]
        return "250 taken"

    def to(self, address: str) -> list[EmailMessage]:
        """The letters to somebody."""
        return [letter for recipient, letter in self.letters if recipient == address]


class Plant:
    """All of it, running; `world` reaches the database past the proxies."""

    def __init__(self, home: Path) -> None:
        self.home, self._stack = home, ExitStack()
        self.letterbox = Letterbox()

    def __enter__(self) -> "Plant":
        with ExitStack() as stack:
            self.postgres = stack.enter_context(Cluster())
            self.redis_server = stack.enter_context(_redis(self.home))
            self.s3 = stack.enter_context(S3Server(self.home / "s3"))
            mail = Controller(self.letterbox, hostname="127.0.0.1", port=free_port())
            mail.start()
            stack.callback(mail.stop)
            self.database = stack.enter_context(FaultProxy(self.postgres.port))
            self.cache = stack.enter_context(FaultProxy(self.redis_server.port))
            self.store = stack.enter_context(FaultProxy(self.s3.port))
            self.mail = stack.enter_context(FaultProxy(mail.port))
            self.log = stack.enter_context((self.home / "service.log").open("wb"))
            self.service = stack.enter_context(Service(self.home, workers=1, log=self.log, **self._environment()))
            self.world = stack.enter_context(self._world())
            stack.enter_context(working(self.service, self.log))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(None, None, None)

    def proxies(self) -> tuple[FaultProxy, ...]:
        """Every proxy."""
        return self.database, self.cache, self.store, self.mail

    def forget_rates(self) -> None:
        """Flush Redis."""
        with redis.Redis(port=self.redis_server.port) as client:
            client.flushall()

    def told(self) -> str:
        """All that web server and worker have logged."""
        self.log.flush()
        return (self.home / "service.log").read_text(errors="replace")

    def secrets(self) -> list[str]:
        """What must never be logged."""
        return [self.s3.secret_key, METRICS_TOKEN]

    def reconnect(self) -> None:
        """Forget the world's own connections, which have died with the server."""
        with self.world.app.app_context():
            db.session.remove()
            db.engine.dispose()

    @contextmanager
    def _world(self) -> Iterator[World]:
        """People made past the proxies."""
        direct = self.service.environment | {"DATABASE_URL": self.postgres.url(), "MAIL_DRIVER": "file"}
        direct |= {"STORAGE_DRIVER": "local", "REDIS_URL": self.redis_server.url}
        app = create_app(Settings.from_environment(direct))
        yield World(app)
        with app.app_context():
            db.session.remove()
            db.engine.dispose()

    def _environment(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self.postgres.url(self.database.port),
            "REDIS_URL": f"redis://127.0.0.1:{self.cache.port}/0",
            "STORAGE_DRIVER": "s3",
            "S3_BUCKET": BUCKET,
            "S3_ENDPOINT_URL": f"http://127.0.0.1:{self.store.port}",
            "MAIL_DRIVER": "smtp",
            "SMTP_URL": f"smtp://127.0.0.1:{self.mail.port}",
            "MAIL_FROM": "galley@mail.example.org",
            "METRICS_TOKEN": METRICS_TOKEN,
            "LOG_LEVEL": "INFO",
        } | self.s3.environment


@contextmanager
def _redis(home: Path) -> Iterator[Redis]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    server = Redis(home)
    try:
        yield server
    finally:
        server.stop()
