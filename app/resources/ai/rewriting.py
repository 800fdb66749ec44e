"""A model's new text of a file as it comes: without the fence models like to put around it, its line ends as they were.

The last line end follows the old text: models drop or add one at will.
"""

import re

_FENCE = re.compile(r"(`{3,}|~{3,})[^\n`]*")


class Rewriting:
    """Cleans one answer piece by piece; what `feed` and `end` give, joined, is the new text."""

    def __init__(self, old: str) -> None:
        self._crlf = "\r\n" in old and "\n" not in old.replace("\r\n", "")
        self._ends_with_newline = old.endswith("\n")
        # A text that begins with a fence of its own keeps what looks like one.
        self._may_be_fenced = _FENCE.match(old.lstrip()) is None
        self._fence: str | None = None
        self._begun = False
        self._held = ""
        self._given: list[str] = []

    @property
    def text(self) -> str:
        """All that was given so far."""
        return "".join(self._given)

    def feed(self, piece: str) -> str:
        """What can be given of the answer so far; an end that may be a fence is held back."""
        self._held += piece
        if not self._begun and not self._begin(final=False):
            return ""
        # The last line, and the blank ones before it, may turn out to be the closing fence or the end.
        cut = len(self._held[: self._held.rfind("\n") + 1].rstrip("\r\n"))
        above, _, last = self._held[:cut].rpartition("\n")
        if self._fence is not None and last.strip() == self._fence:
            cut = len(above.rstrip("\r\n"))
        ready, self._held = self._held[:cut], self._held[cut:]
        return self._give(ready)

    def end(self) -> str:
        """The rest."""
        if not self._begun:
            self._begin(final=True)
        rest = self._held
        if self._fence is not None:
            body, _, last = rest.rstrip().rpartition("\n")
            if last.strip() == self._fence:
                rest = body
        rest = rest.rstrip("\r\n")
        if self._ends_with_newline and (rest or self._given):
            rest += "\n"
        return self._give(rest)

    def _begin(self, *, final: bool) -> bool:
        """Look at the first line: an opening fence is taken away."""
        line, end, rest = self._held.partition("\n")
        if not end and not final and self._may_be_fenced:
            return not line.lstrip().startswith(("`", "~")) and bool(line.strip()) and self._start()
        if self._may_be_fenced and (match := _FENCE.fullmatch(line.strip())):
            self._fence, self._held = match[1], rest
        return self._start()

    def _start(self) -> bool:
        self._begun = True
        return True

    def _give(self, text: str) -> str:
        plain = text.replace("\r\n", "\n")
        given = plain.replace("\n", "\r\n") if self._crlf else plain
        if given:
            self._given.append(given)
        return given
