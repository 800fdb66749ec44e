"""Signatures of Paddle's notifications: `Paddle-Signature: ts=…;h1=…`. Several `h1` occur while a secret is rotated.

Source: https://developer.paddle.com/webhooks/signature-verification. The SDK checks the HMAC. Its `Verifier` is not
used, because the environment variable `TEST_MODE` switches its time check off.
"""

from collections.abc import Sequence
from datetime import datetime

from paddle_billing.Notifications.PaddleSignature import PaddleSignature
from paddle_billing.Notifications.Secret import Secret

from app.drivers.billing.port import InvalidSignature

TOLERANCE_S = 300
MAX_HEADER_CHARACTERS = 1024


def check_signature(header: str | None, body: bytes, *, secrets: Sequence[str], now: datetime) -> None:
    """Check that one of the secrets signed the body within `TOLERANCE_S` of `now`.

    Raises:
        InvalidSignature: the signature is missing, malformed, wrong or too old.
    """
    header = (header or "")[:MAX_HEADER_CHARACTERS]
    try:
        signed_at, _ = PaddleSignature.parse(header)
        signature = PaddleSignature()  # type: ignore[no-untyped-call]
        signature.verify(header, body.decode(), [Secret(secret) for secret in secrets if secret])
    # The SDK raises the first error for a wrong signature and the others for malformed values.
    except (ConnectionRefusedError, TypeError, ValueError) as error:
        raise InvalidSignature("The notification has no valid signature") from error
    if abs(int(now.timestamp()) - signed_at) > TOLERANCE_S:
        raise InvalidSignature(f"The notification was not signed within {TOLERANCE_S} s of now")
