"""The host of an installation that runs no previews."""

from collections.abc import Iterable, Mapping
from typing import Never

from app.drivers.sandbox.port import Order, Phase, SandboxGone, SandboxUnavailable, SiteFile, View


class NoSandboxes:
    """Answers every wish with the same no."""

    node = "none"

    def check(self) -> Never:
        """Refuse."""
        raise SandboxUnavailable("Previews are switched off on this installation")

    def start(self, order: Order, files: Iterable[SiteFile]) -> Never:
        """Refuse."""
        raise SandboxUnavailable("Previews are switched off on this installation")

    def look(self, reference: str) -> View:
        """Nothing is here."""
        return View(Phase.GONE)

    def write(self, reference: str, path: str, content: bytes) -> Never:
        """Nothing is here."""
        raise SandboxGone("Previews are switched off on this installation")

    def extend(self, reference: str, lifetime_s: float) -> Never:
        """Nothing is here."""
        raise SandboxGone("Previews are switched off on this installation")

    def connect(self, reference: str) -> Never:
        """Nothing is here."""
        raise SandboxGone("Previews are switched off on this installation")

    def stop(self, reference: str) -> None:
        """Nothing is here."""

    def names(self) -> Mapping[str, str]:
        """Nothing is here."""
        return {}
