"""An authenticator in software: it creates passkeys and signs challenges, with each part that a test changes."""

import hashlib
import json
import secrets
import struct
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from webauthn.helpers import bytes_to_base64url

USER_PRESENT, USER_VERIFIED, BACKUP_ELIGIBLE, BACKED_UP, ATTESTED = 1, 4, 8, 16, 64
ORIGIN, RP_ID = "http://127.0.0.1:8000", "127.0.0.1"


@dataclass
class Authenticator:
    """One passkey. `counter` None stays 0, as that of a synced passkey."""

    origin: str = ORIGIN
    rp_id: str = RP_ID
    is_synced: bool = False
    is_verified: bool = True
    counter: int | None = 0
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    user_handle: str | None = None

    @property
    def flags(self) -> int:
        """Return the flags of the authenticator data."""
        verified = USER_VERIFIED if self.is_verified else 0
        return USER_PRESENT | verified | (BACKUP_ELIGIBLE | BACKED_UP if self.is_synced else 0)

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the response to the options of a registration."""
        self.user_handle = options["user"]["id"]
        numbers = self.key.public_key().public_numbers()
        cose = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        attested = bytes(16) + struct.pack(">H", len(self.credential_id)) + self.credential_id + cbor2.dumps(cose)
        data = self._data(ATTESTED) + attested
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", options["challenge"])
        return self._credential(
            clientDataJSON=client, attestationObject=attestation, transports=["internal", "unknown-kind"]
        )

    def sign(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the response to the options of a sign-in."""
        if self.counter is not None:
            self.counter += 1
        client, data = self._client("webauthn.get", options["challenge"]), self._data()
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        response = self._credential(clientDataJSON=client, authenticatorData=data, signature=signature)
        response["response"]["userHandle"] = self.user_handle
        return response

    def _data(self, more_flags: int = 0) -> bytes:
        party = hashlib.sha256(self.rp_id.encode()).digest()
        return party + struct.pack(">BI", self.flags | more_flags, self.counter or 0)

    def _client(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _credential(self, **parts: Any) -> dict[str, Any]:
        response = {name: bytes_to_base64url(part) if isinstance(part, bytes) else part for name, part in parts.items()}
        id_text = bytes_to_base64url(self.credential_id)
        return {"id": id_text, "rawId": id_text, "type": "public-key", "response": response}
