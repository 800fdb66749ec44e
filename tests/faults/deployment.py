"""A deployment of the service: web server and worker, with a fault proxy before each dependency."""

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from unittest.mock import patch

import redis
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope

from app.extensions import db
from app.factory import create_app
from config import Settings
from tests.faults.postgres import Cluster
from tests.faults.small_deployment import running_worker
from tests.support.doubles.fault_proxy import FaultProxy
from tests.support.servers.ports import free_port
from tests.support.servers.redis import redis_server
from tests.support.servers.s3 import BUCKET, S3Server
from tests.support.servers.service import Service
from tests.support.world import World

METRICS_TOKEN = secrets.token_hex(16)


class MailServerHandler:
    """A handler of the mail server that stores the messages."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, EmailMessage]] = []

    async def handle_DATA(self, _server: object, _session: object, envelope: Envelope) -> str:
        """Store a message."""
        content = envelope.original_content or b""
        self.messages += [
            (address, message_from_bytes(content, policy=policy.default)) for address in envelope.rcpt_tos
        ]
        return "250 taken"

    def to(self, address: str) -> list[EmailMessage]:
        """Return the messages to an address."""
        return [message for recipient, message in self.messages if recipient == address]


class Deployment:
    """A running deployment. `world` uses the database without the proxy."""

    def __init__(self, home: Path) -> None:
        self.home, self._stack = home, ExitStack()
        self.mail_handler = MailServerHandler()

    def __enter__(self) -> "Deployment":
        with ExitStack() as stack:
            self.postgres = stack.enter_context(Cluster())
            self.redis_server = stack.enter_context(redis_server(self.home))
            self.s3 = stack.enter_context(S3Server(self.home / "s3"))
            # The application of this process also has a client. Without credentials it requests them from the cloud.
            stack.enter_context(patch.dict(os.environ, self.s3.environment))
            mail = Controller(self.mail_handler, hostname="127.0.0.1", port=free_port())
            mail.start()
            stack.callback(mail.stop)
            self.database = stack.enter_context(FaultProxy(self.postgres.port))
            self.cache = stack.enter_context(FaultProxy(self.redis_server.port))
            self.store = stack.enter_context(FaultProxy(self.s3.port))
            self.mail = stack.enter_context(FaultProxy(mail.port))
            self.log = stack.enter_context((self.home / "service.log").open("wb"))
            self.service = stack.enter_context(Service(self.home, workers=1, log=self.log, **self._environment()))
            self.world = stack.enter_context(self._world())
            stack.enter_context(running_worker(self.service, self.log))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(None, None, None)

    def proxies(self) -> tuple[FaultProxy, ...]:
        """Return all proxies."""
        return self.database, self.cache, self.store, self.mail

    def forget_rates(self) -> None:
        """Flush Redis."""
        with redis.Redis(port=self.redis_server.port) as client:
            client.flushall()

    def log_text(self) -> str:
        """Return the log of web server and worker."""
        self.log.flush()
        return (self.home / "service.log").read_text(errors="replace")

    def secrets(self) -> list[str]:
        """Return the values that no log may contain."""
        return [self.s3.secret_key, METRICS_TOKEN]

    def reconnect(self) -> None:
        """Discard the connections of `world`, which have ended with the server."""
        with self.world.app.app_context():
            db.session.remove()
            db.engine.dispose()

    @contextmanager
    def _world(self) -> Iterator[World]:
        """Create users without the proxies."""
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
            "LOG_LEVEL": "DEBUG",
        } | self.s3.environment
