"""Client of E2B's sandbox service (`spec/openapi.yml` and `spec/envd`): microVMs, their files and processes.

The client does not depend on sites or recipes. Calls to the service use the key of the operator. Calls to a microVM use
its access token.
"""

import base64
import json
import secrets
import socket
import ssl
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from app.core.urls import is_ip_address
from app.drivers.errors import UpstreamError, UpstreamRejected, UpstreamThrottled, UpstreamUnavailable
from app.drivers.http.client import HttpClient, HttpResponse
from app.drivers.sandbox.port import SandboxEnded, SandboxUnavailable

ENVD_PORT = 49983
USER = "user"
PAGE = 100
CONNECT_TIMEOUT_S = 10
END_OF_STREAM = 0b10
MISSING_STATUSES = frozenset((404, 502))
"""Statuses of the gateway of the service for a microVM that does not exist."""


@dataclass(frozen=True)
class Machine:
    """A microVM with its access tokens."""

    id: str
    envd_token: str
    traffic_token: str
    domain: str


class E2bClient:
    """A client for one account."""

    def __init__(self, url: str, key: str, *, domain: str | None, http: HttpClient) -> None:
        self._url, self._key, self._http = url, key, http
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        # A service on a single address distinguishes microVMs by the Host header only.
        self._gateway = (parts.hostname or "", parts.port or 80) if is_ip_address(parts.hostname or "") else None
        self._domain = domain or (parts.hostname or "").removeprefix("api.")
        self._machines: dict[str, Machine] = {}

    def create(
        self, template: str, *, timeout_s: int, metadata: Mapping[str, str], network: Mapping[str, object]
    ) -> Machine:
        """Create a microVM whose public traffic requires a token."""
        body = {"templateID": template, "timeout": timeout_s, "secure": True}
        body |= {"metadata": dict(metadata), "network": dict(network)}
        return self._remember(self._call("POST", "/sandboxes", body).json())

    def machine(self, machine_id: str) -> Machine:
        """Return the microVM with its tokens. The lifetime stays unchanged. Raises SandboxEnded."""
        cached = self._machines.get(machine_id)
        return cached or self._remember(
            self._call("POST", f"/sandboxes/{quote(machine_id)}/connect", {"timeout": 1}).json()
        )

    def exists(self, machine_id: str) -> bool:
        """Return True if the service has the microVM."""
        try:
            self._call("GET", f"/sandboxes/{quote(machine_id)}")
        except SandboxEnded:
            self._machines.pop(machine_id, None)
            return False
        return True

    def set_timeout(self, machine_id: str, timeout_s: int) -> None:
        """Set the remaining lifetime. Raises SandboxEnded."""
        self._call("POST", f"/sandboxes/{quote(machine_id)}/timeout", {"timeout": timeout_s})

    def close_network(self, machine_id: str) -> None:
        """Deny all outbound connections."""
        self._call("PUT", f"/sandboxes/{quote(machine_id)}/network", {"allow_internet_access": False})

    def kill(self, machine_id: str) -> None:
        """End the microVM. Raises SandboxEnded if it does not exist."""
        self._machines.pop(machine_id, None)
        self._call("DELETE", f"/sandboxes/{quote(machine_id)}")

    def list_by_metadata(self, metadata: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the id and the metadata of each microVM whose metadata contains these entries."""
        query = {"metadata": urlencode(metadata), "limit": str(PAGE)}
        for _ in range(1000):
            response = self._call("GET", f"/v2/sandboxes?{urlencode(query)}")
            yield from ((str(entry["sandboxID"]), entry.get("metadata") or {}) for entry in response.json())
            token = response.headers.get("X-Next-Token")
            if not token:
                return
            query["nextToken"] = token

    def upload(self, machine: Machine, path: str, content: bytes) -> None:
        """Write a file.

        A relative path starts at the home folder of the user. Raises SandboxEnded, UpstreamRejected.
        """
        boundary = secrets.token_hex(16)
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        response = self._envd(machine, "POST", _file(path), headers, body)
        if response.status == 507:
            raise UpstreamRejected("The site is larger than a sandbox's disk")
        if response.status != 200:
            raise UpstreamRejected("The file could not be written")

    def download(self, machine: Machine, path: str) -> bytes | None:
        """Return the bytes of a file, or None if it does not exist. Raises SandboxEnded."""
        response = self._envd(machine, "GET", _file(path), {}, None)
        if response.status == 404:
            return None
        if response.status != 200:
            raise UpstreamError(f"The sandbox service responded with status {response.status}")
        return response.body

    def run(self, machine: Machine, command: str, environment: Mapping[str, str]) -> None:
        """Run a short shell command to its end with the streaming JSON protocol of Connect."""
        process = {"cmd": "/bin/sh", "args": ["-c", command], "envs": dict(environment)}
        message = json.dumps({"process": process, "stdin": False}).encode()
        headers = {"Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}
        response = self._envd(
            machine, "POST", "/process.Process/Start", headers, struct.pack(">BI", 0, len(message)) + message
        )
        if response.status != 200:
            raise UpstreamError(f"The sandbox service responded with status {response.status}")
        for flags, message_data in _messages(response.body):
            end = message_data.get("event", {}).get("end", {})
            if (flags & END_OF_STREAM and "error" in message_data) or end.get("exitCode", 0) != 0:
                raise UpstreamError("The sandbox could not start its program")

    def open(self, machine: Machine, port: int) -> tuple[socket.socket, str]:
        """Connect to a port of the microVM. Return the connection and the value of the Host header."""
        name = _host(machine, port)
        try:
            if self._gateway is not None:
                return socket.create_connection(self._gateway, CONNECT_TIMEOUT_S), name
            default_port = 443 if self._secure else 80
            address = urlsplit(f"//{name}")
            plain = socket.create_connection((address.hostname or "", address.port or default_port), CONNECT_TIMEOUT_S)
            if not self._secure:
                return plain, name
            return ssl.create_default_context().wrap_socket(plain, server_hostname=address.hostname), name
        except OSError as error:
            raise UpstreamUnavailable("The sandbox service cannot be reached") from error

    def _call(self, method: str, path: str, body: object = None) -> HttpResponse:
        response = self._http.send(method, self._url + path, headers={"X-API-Key": self._key}, json=body)
        if response.status < 300:
            return response
        if response.status == 404:
            raise SandboxEnded("The preview has ended")
        if response.status in (401, 403):
            raise SandboxUnavailable("The sandbox service rejects the key of this installation")
        if response.status == 429:
            raise UpstreamThrottled("The sandbox service has no free capacity")
        raise UpstreamError(f"The sandbox service responded with status {response.status}")

    def _envd(
        self, machine: Machine, method: str, path: str, headers: dict[str, str], body: bytes | None
    ) -> HttpResponse:
        name = _host(machine, ENVD_PORT)
        scheme = "https" if self._secure else "http"
        authority = name if self._gateway is None else f"{self._gateway[0]}:{self._gateway[1]}"
        basic = base64.b64encode(f"{USER}:".encode()).decode()
        headers |= {"X-Access-Token": machine.envd_token, "Authorization": f"Basic {basic}", "Host": name}
        response = self._http.send(method, f"{scheme}://{authority}{path}", headers=headers, content=body)
        if response.status in MISSING_STATUSES and not self.exists(machine.id):
            raise SandboxEnded("The preview has ended")
        return response

    def _remember(self, data: Any) -> Machine:
        try:
            machine = Machine(
                str(data["sandboxID"]),
                str(data.get("envdAccessToken") or ""),
                str(data.get("trafficAccessToken") or ""),
                str(data.get("domain") or self._domain),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise UpstreamError("The sandbox service returned an invalid response") from error
        self._machines[machine.id] = machine
        return machine


def _host(machine: Machine, port: int) -> str:
    return f"{port}-{machine.id}.{machine.domain}"


def _file(path: str) -> str:
    return f"/files?{urlencode({'path': path, 'username': USER})}"


def _messages(body: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    at = 0
    while at + 5 <= len(body):
        flags, length = struct.unpack_from(">BI", body, at)
        at += 5 + length
        yield flags, json.loads(body[at - length : at] or b"{}")
