"""Insertion of an element at the end of the head of an HTML page, while the page is streamed.

Reads the bytes of a page until this position is known, in linear time and with a small buffer. Comments, attributes and
the content of scripts, titles and templates are skipped as browsers do. Every encoding that contains ASCII is read.
"""

import re
from collections.abc import Callable

MAX_HEAD_BYTES = 2 * 1024 * 1024
"""A page with a longer head is passed unchanged."""
MAX_META_BYTES = 64 * 1024
MAX_NAME = 20
RAW = frozenset(b"script style title textarea noscript noframes xmp iframe noembed".split())
"""Elements whose content is text."""
IN_HEAD = frozenset(b"html head base basefont bgsound link meta title script style noscript noframes template".split())
AFTER_HEAD = frozenset(b"head body html br".split())
"""End tags that end the head."""

_SPACE = rb"\t\n\f\r "
_SPACES = re.compile(rb"[%b]*+" % _SPACE)
_TAG = re.compile(rb"<(/?)([A-Za-z][^%b/>]{0,%d}+)" % (_SPACE, MAX_NAME - 1))
_RAW_TOKENS = {name: re.compile(rb"</%b(?=[%b/>])" % (name, _SPACE), re.IGNORECASE) for name in RAW - {b"script"}} | {
    b"script": re.compile(rb"</script(?=[%b/>])|<script(?=[%b/>])|<!--|-->" % (_SPACE, _SPACE), re.IGNORECASE)
}
_COMMENT_END = re.compile(rb"--!?>")
_SHORT_COMMENT = re.compile(rb"<!---?>")

BEFORE_NAME, NAME, AFTER_NAME, BEFORE_VALUE, UNQUOTED, QUOTED, SINGLE_QUOTED, TAG_END = range(8)
_RUNS = {
    BEFORE_NAME: re.compile(rb"[%b/]*+" % _SPACE),
    NAME: re.compile(rb"[^%b/>=]*+" % _SPACE),
    AFTER_NAME: _SPACES,
    BEFORE_VALUE: _SPACES,
    UNQUOTED: re.compile(rb"[^%b>]*+" % _SPACE),
    QUOTED: re.compile(rb"[^\"]*+"),
    SINGLE_QUOTED: re.compile(rb"[^']*+"),
}
"""What belongs to each state of a tag."""
_NEXT = {
    BEFORE_NAME: ({b">": TAG_END}, NAME),
    NAME: ({b">": TAG_END, b"=": BEFORE_VALUE, b"/": BEFORE_NAME}, AFTER_NAME),
    AFTER_NAME: ({b">": TAG_END, b"=": BEFORE_VALUE, b"/": BEFORE_NAME}, NAME),
    BEFORE_VALUE: ({b">": TAG_END, b'"': QUOTED, b"'": SINGLE_QUOTED}, UNQUOTED),
    UNQUOTED: ({b">": TAG_END}, BEFORE_NAME),
    QUOTED: ({}, BEFORE_NAME),
    SINGLE_QUOTED: ({}, BEFORE_NAME),
}
"""The state after the next byte: of some bytes, and of all others."""


class HeadInsertion:
    """A page into which `element` is inserted at the end of its head. `amend_meta` changes its `meta` elements."""

    def __init__(self, element: bytes, amend_meta: Callable[[bytes], bytes]) -> None:
        self._element, self._amend_meta = element, amend_meta
        self._buffer, self._position = b"", 0
        self._output, self._meta = bytearray(), bytearray()
        self._size = self._templates = 0
        self._is_meta = self._is_last = False
        self._raw, self._raw_level, self._tag_state = b"", 0, BEFORE_NAME
        self._step: Callable[[], bool] | None = self._read_start

    def feed(self, piece: bytes) -> bytes:
        """Return the part of the page that is complete after this piece. It can be empty."""
        if self._step is None:
            return piece
        self._buffer = self._buffer[self._position :] + piece
        self._position = 0
        self._size += len(piece)
        while self._step is not None and self._step():
            pass
        if self._size > MAX_HEAD_BYTES and self._step is not None:
            self._pass()
        return self._taken()

    def end(self) -> bytes:
        """Return the remaining part of the page. A page that is a head only ends with the element."""
        self._is_last = True
        start = self.feed(b"") if self._size else b""
        if self._step == self._read_content and not self._templates:
            self._output += self._element
        if self._step is not None:
            self._pass()
        return start + self._taken()

    def _taken(self) -> bytes:
        taken = bytes(self._output)
        self._output.clear()
        return taken

    def _pass(self) -> None:
        self._output += self._meta + self._buffer[self._position :]
        self._buffer, self._position, self._step = b"", 0, None
        self._meta.clear()

    def _insert(self) -> bool:
        self._output += self._element
        self._pass()
        return False

    def _emit(self, end: int) -> None:
        """Move the buffer up to a position to the output, or to the `meta` element that is being read."""
        taken = self._buffer[self._position : end]
        self._position = end
        if not self._is_meta:
            self._output += taken
            return
        self._meta += taken
        if len(self._meta) > MAX_META_BYTES:
            self._end_meta(lambda tag: tag)

    def _end_meta(self, amend: Callable[[bytes], bytes]) -> None:
        self._output += amend(bytes(self._meta))
        self._meta.clear()
        self._is_meta = False

    def _starts_with(self, *texts: bytes) -> bool:
        return self._buffer.startswith(texts, self._position)

    def _is_complete(self, size: int) -> bool:
        """Return True if the buffer has this many bytes, or the page ends."""
        return self._is_last or len(self._buffer) - self._position >= size

    def _read_start(self) -> bool:
        """Pass pages in an encoding that does not contain ASCII."""
        if not self._is_complete(4):
            return False
        if self._starts_with(b"\xfe\xff", b"\xff\xfe") or b"\0" in self._buffer[:4]:
            self._pass()
            return False
        self._emit(3 if self._starts_with(b"\xef\xbb\xbf") else 0)
        self._step = self._read_content
        return True

    def _read_content(self) -> bool:
        """Read up to the next tag. Text outside of a template is the begin of the body."""
        spaces = _SPACES.match(self._buffer, self._position)
        self._emit(spaces.end() if spaces is not None else self._position)
        if self._position == len(self._buffer):
            return False
        if self._starts_with(b"<"):
            return self._read_tag()
        if not self._templates:
            return self._insert()
        end = self._buffer.find(b"<", self._position)
        self._emit(len(self._buffer) if end < 0 else end)
        return True

    def _read_tag(self) -> bool:
        if self._starts_with(b"<!--"):
            self._step = self._read_comment_start
            return True
        tag = _TAG.match(self._buffer, self._position)
        if tag is None:
            return self._read_other()
        if len(tag[2]) < MAX_NAME and not self._is_complete(len(tag[0]) + 1):
            return False
        name, is_end = tag[2].lower(), bool(tag[1])
        if not self._templates and (name in AFTER_HEAD if is_end else name not in IN_HEAD):
            return self._insert()
        if name == b"template":
            self._templates = max(0, self._templates + (-1 if is_end else 1))
        self._is_meta = name == b"meta" and not is_end and not self._templates
        self._raw = name if name in RAW and not is_end else b""
        self._emit(tag.end())
        self._tag_state, self._step = BEFORE_NAME, self._read_attributes
        return True

    def _read_other(self) -> bool:
        """Read `<!doctype`, an instruction or an invalid end tag, which end at the next `>`. Other text is text."""
        start = self._buffer[self._position : self._position + len(b"<!--")]
        if start == b"</" or b"<!--".startswith(start):
            return False
        if self._starts_with(b"<!", b"<?", b"</"):
            self._step = self._read_declaration
            return True
        if not self._templates:
            return self._insert()
        self._emit(self._position + 1)
        return True

    def _read_declaration(self) -> bool:
        end = self._buffer.find(b">", self._position) + 1
        self._emit(end or len(self._buffer))
        if end:
            self._step = self._read_content
        return bool(end)

    def _read_comment_start(self) -> bool:
        if not self._is_complete(len(b"<!--->")):
            return False
        short = _SHORT_COMMENT.match(self._buffer, self._position)
        self._emit(self._position + len(b"<!--") if short is None else short.end())
        self._step = self._read_comment if short is None else self._read_content
        return True

    def _read_comment(self) -> bool:
        end = _COMMENT_END.search(self._buffer, self._position)
        if end is None:
            self._emit(max(self._position, len(self._buffer) - len(b"--!")))
            return False
        self._emit(end.end())
        self._step = self._read_content
        return True

    def _read_attributes(self) -> bool:
        """Read the attributes of a tag up to its end. Each byte is read once, also if the tag arrives in pieces."""
        buffer, position = self._buffer, self._position
        while self._tag_state != TAG_END:
            run = _RUNS[self._tag_state].match(buffer, position)
            position = run.end() if run is not None else position
            if position >= len(buffer):
                self._emit(position)
                return False
            known, other = _NEXT[self._tag_state]
            self._tag_state = known.get(buffer[position : position + 1], other)
            position += 1
        self._emit(position)
        if self._is_meta:
            self._end_meta(self._amend_meta)
        self._raw_level = 0
        self._step = self._read_raw if self._raw else self._read_content
        return True

    def _read_raw(self) -> bool:
        """Read the content of an element that contains text. `_read_content` reads its end tag.

        In a script, `<!--` and then `<script` begin a part whose end tag does not end the script.
        """
        position, buffer = self._position, self._buffer
        while (token := _RAW_TOKENS[self._raw].search(buffer, position)) is not None:
            position, text = token.end(), token[0].lower()
            if text.startswith(b"</") and self._raw_level < 2:
                self._emit(token.start())
                self._step = self._read_content
                return True
            if text == b"<!--":
                position = token.start() + 2  # `<!-->` is complete
            self._raw_level = _raw_level(self._raw_level, text)
        self._emit(max(position, len(buffer) - len(self._raw) - 2))
        return False


def _raw_level(level: int, token: bytes) -> int:
    """Return the level in a script after a token: 1 after `<!--`, and 2 in a script in it."""
    if token == b"-->":
        return 0
    if token == b"<!--":
        return max(1, level)
    if token == b"<script":
        return 2 if level else 0
    return 1
