"""Logs of previews as plain text."""

import re

TAIL_BYTES = 4 * 1024

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # operating system commands: titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # device control and other strings
    r"|\x1b[ -/]*[0-~]"  # other escape sequences
    r"|[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]"
)


def log_tail(log: str) -> str:
    """Return the last 4 KiB of a log without escape codes and control characters."""
    text = plain(log).encode()[-TAIL_BYTES:]
    return text.decode(errors="ignore")


def plain(text: str) -> str:
    """Return a text without escape codes and control characters."""
    return _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
