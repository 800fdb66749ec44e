"""Paddle's signature of notifications: `Paddle-Signature: ts=…;h1=…`, an HMAC-SHA256 over `ts:body`.

Source: https://developer.paddle.com/webhooks/signature-verification. There may be several `h1` while a secret rotates.
"""

from collections.abc import Sequence
from datetime import datetime

from app.core.signatures import is_signed
from app.drivers.billing.port import Forged

TOLERANCE_S = 300
HEADER_CHARACTERS = 1024
TIME_DIGITS = 12


def check_signature(header: str | None, body: bytes, *, secrets: Sequence[str], now: datetime) -> None:
    """Make sure that one of the secrets signed the body within the tolerance. Raises Forged."""
    time, signatures = _parts(header or "")
    if not is_signed(f"{time}:".encode() + body, signatures, secrets=secrets):
        raise Forged("The notification is not signed with a live secret")
    if abs(now.timestamp() - int(time)) > TOLERANCE_S:
        raise Forged(f"The notification was not signed within {TOLERANCE_S} s of now")


def _parts(header: str) -> tuple[str, list[str]]:
    given = [part.strip().partition("=") for part in header[:HEADER_CHARACTERS].split(";")]
    times = [value for name, _, value in given if name == "ts"]
    if len(times) != 1 or not (times[0].isascii() and times[0].isdigit() and len(times[0]) <= TIME_DIGITS):
        raise Forged("The notification is not signed")
    return times[0], [value for name, _, value in given if name == "h1"]
