"""Sandbox host of an installation without previews."""

from collections.abc import Iterable, Mapping
from typing import Never

from app.drivers.sandbox.port import (
    OutputLimits,
    Phase,
    SandboxEnded,
    SandboxSpec,
    SandboxStatus,
    SandboxUnavailable,
    SiteFile,
)


class NoSandboxes:
    """Host that refuses every start."""

    node = "none"

    def check(self) -> Never:
        """Refuse the request."""
        raise SandboxUnavailable("Previews are disabled on this installation")

    def start(self, spec: SandboxSpec, files: Iterable[SiteFile]) -> Never:
        """Refuse the request."""
        raise SandboxUnavailable("Previews are disabled on this installation")

    def status(self, reference: str) -> SandboxStatus:
        """Report that the sandbox does not exist."""
        return SandboxStatus(Phase.ENDED)

    def read_log(self, reference: str) -> str:
        return ""

    def write(self, reference: str, path: str, content: bytes) -> Never:
        """Refuse the request."""
        raise SandboxEnded("Previews are disabled on this installation")

    def extend(self, reference: str, lifetime_s: float) -> Never:
        """Refuse the request."""
        raise SandboxEnded("Previews are disabled on this installation")

    def connect(self, reference: str) -> Never:
        """Refuse the request."""
        raise SandboxEnded("Previews are disabled on this installation")

    def output(self, reference: str, limits: OutputLimits) -> Never:
        """Refuse the request."""
        raise SandboxEnded("Previews are disabled on this installation")

    def stop(self, reference: str) -> None:
        """Do nothing."""

    def list_sandboxes(self) -> Mapping[str, str]:
        return {}
