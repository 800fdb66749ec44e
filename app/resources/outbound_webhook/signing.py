"""Signatures of Standard Webhooks 1.0.0, and the encryption of the secrets of endpoints."""

import base64
import hashlib
import hmac
import secrets
from datetime import timedelta

from app.core.limits import WebhookLimits
from app.models.base import utcnow_ms
from app.models.outbound_webhook import WebhookEndpoint
from app.security.secrets import Keyring, SecretFields, associated_data

PREFIX, KEY_BYTES = "whsec_", 32
URL, SIGNING, PREVIOUS = "url", "signing", "previous_signing"
SECRETS: SecretFields = (WebhookEndpoint, (URL, SIGNING, PREVIOUS))
"""The encrypted columns, for a change of the key."""
ROTATION = timedelta(seconds=WebhookLimits.rotation_s)


def new_secret() -> str:
    """Return a new signing secret such as `whsec_…`."""
    return PREFIX + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}"


def signatures(endpoint: WebhookEndpoint, message_id: str, timestamp: int, body: bytes, *, ring: Keyring) -> str:
    """Return the value of `webhook-signature`: the signature of the secret, and during a rotation of the previous one.

    Raises:
        TamperedSecret: a secret cannot be decrypted.
    """
    stored = [(SIGNING, endpoint.signing_secret)]
    if endpoint.rotated_at is not None and utcnow_ms() < endpoint.rotated_at + ROTATION:
        stored.append((PREVIOUS, endpoint.previous_signing_secret))
    values = (open_sealed(ring, endpoint.id, field, value) for field, value in stored if value is not None)
    return " ".join(sign(secret, message_id, timestamp, body) for secret in values)


def seal(ring: Keyring, endpoint_id: str, field: str, value: str) -> str:
    """Encrypt a value for its row and field."""
    return ring.encrypt(value, aad=associated_data(WebhookEndpoint.__tablename__, endpoint_id, field))


def open_sealed(ring: Keyring, endpoint_id: str, field: str, stored: str) -> str:
    """Decrypt a value. Raises TamperedSecret."""
    return ring.decrypt(stored, aad=associated_data(WebhookEndpoint.__tablename__, endpoint_id, field))
