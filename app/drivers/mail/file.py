"""Mail transport that writes one `.eml` file per message, for tests and for relays that watch a folder."""

import itertools
import os
import time
from pathlib import Path

from app.drivers.errors import UpstreamUnavailable
from app.drivers.mail.port import Mail, compose
from app.security.private_files import make_private_folder

OWNER_ONLY = 0o600


class FileMail:
    """A transport that writes into a folder. File names are unique and sort by time."""

    def __init__(self, directory: Path, *, sender: str) -> None:
        """Use `directory`. The first message creates it."""
        self._directory = directory
        self._sender = sender
        self._numbers = itertools.count()

    def send(self, mail: Mail) -> None:
        """Write the message atomically.

        Raises:
            UpstreamRejected: the message is invalid.
            UpstreamUnavailable: the folder cannot be written.
        """
        content = compose(mail, sender=self._sender).as_bytes()
        name = f"{time.time_ns():020d}-{os.getpid()}-{next(self._numbers):06d}.eml"
        try:
            self._write(name, content)
        except OSError as error:
            raise UpstreamUnavailable("The mail folder cannot be written", retry_after_s=30) from error

    def _write(self, name: str, content: bytes) -> None:
        make_private_folder(self._directory)
        draft = self._directory / f".{name}.part"
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY), "wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            draft.rename(self._directory / name)
        finally:
            draft.unlink(missing_ok=True)

    def check(self) -> None:
        """Check that the folder can be written.

        Raises:
            UpstreamUnavailable: the folder cannot be written.
        """
        try:
            make_private_folder(self._directory)
            writable = os.access(self._directory, os.W_OK | os.X_OK)
        except OSError:
            writable = False
        if not writable:
            raise UpstreamUnavailable("The mail folder cannot be written", retry_after_s=30)
