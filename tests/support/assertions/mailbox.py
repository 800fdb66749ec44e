"""Mails to the users of the tests, read from the folder of the `file` transport."""

import email
import email.policy
import re
from email.message import EmailMessage
from email.parser import BytesHeaderParser
from functools import cache
from pathlib import Path
from typing import cast

CODE = re.compile(r"(?<![\w#.-])\d{6}(?![\w-])")
LINK = re.compile(r"https?://[^\s<>\"')]+")


class Mailbox:
    """The mails to one address, oldest first."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder, self.address = folder, address.lower()

    def mails(self) -> list[EmailMessage]:
        """Return the messages."""
        files = [file for file in sorted(self.folder.glob("*.eml")) if _recipient(file) == self.address]
        parsed = [email.message_from_bytes(file.read_bytes(), policy=email.policy.default) for file in files]
        return [cast("EmailMessage", mail) for mail in parsed]

    def texts(self) -> list[str]:
        """Return the subject and the text part of each mail."""
        return [f"{mail['subject']}\n{mail.get_body(('plain',)).get_content()}" for mail in self.mails()]

    def codes(self) -> list[str]:
        """Return the six-digit code of each mail that has one."""
        return [found[-1] for text in self.texts() if (found := CODE.findall(text))]

    def links(self) -> list[str]:
        """Return the links with a fragment."""
        return [link for text in self.texts() for link in LINK.findall(text) if "#" in link]

    def tokens(self) -> list[str]:
        """Return the token in the fragment of each link."""
        return [link.partition("#token=")[2] for link in self.links()]


@cache
def _recipient(file: Path) -> str:
    """Return the address of a mail. The folder has the mails of all tests of a process, so each file is read once."""
    with file.open("rb") as content:
        return str(BytesHeaderParser(policy=email.policy.default).parse(content)["to"]).lower()
