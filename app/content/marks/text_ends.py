"""The position in a text at which an invisible mark changes nothing that a generator reads.

Delimiters of emphasis and quotation marks must be followed by white space or the end, and a generator can link an
address without brackets: the mark stands before them.
"""

import re
from typing import NamedTuple

MAX_STEPS, MAX_LABEL = 40, 2_000
"""The parts at the end of a text that are skipped, and the characters of a label that are read."""

_CLOSERS = "*_~\"'=^+#-"
_PUNCTUATION = ".,;:!?"
_SPACE = " \t\n"
_DIRECTIVE = re.compile(
    r"[ \t]*+(?:[:!?]{3}|::[A-Za-z]|===|--8<--|;--8<--|\{%|\{\{|@|\*\[|\||\{:|:::|\$\$|<!--"
    r"|(?:import|export)\s[^\n]*?['\"{]|\[[^\]\n]++\]:[ \t]*+\S++(?:[ \t]++[\"'(][^\n]*+)?\Z"
    r"|\([^()\n]++\)=\Z|:[A-Za-z][\w-]*+:\Z)"
)
_ADDRESS = re.compile(r"://|www\.|@\w|[\w*]\.\w|\d/\d")
_CALLOUT = re.compile(r"[!?]? ?[A-Z]{2,40}:(?: \*\*[^\n]*\*\*)?\Z")
_PLAIN_END = re.compile(r"[^\W\d_]++[.,;:!?]?\Z")
_END_TAG = re.compile(r"</[a-z][a-z0-9]*>\Z")
_DIRECTIVE_NAME = re.compile(r"(?<![\w:]):[A-Za-z][\w-]{0,40}\Z")
_AUTOLINK = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:[^<>\s]*>\Z|<[^<>\s@]+@[^<>\s]+>\Z")
_TAIL_TAG = re.compile(
    r"<(?:br ?/?|/(?:p|div|h[1-6]|li|ul|ol|td|tr|table|section|blockquote|figure))>\Z", re.IGNORECASE
)
MAX_TAIL_TAG, MAX_DIRECTIVE_NAME = 13, 43
_EMBEDDED_NAMES = "script style svg video audio iframe object picture canvas textarea select math"
_EMBEDDED = frozenset(_EMBEDDED_NAMES.split())
_TAGS = re.compile(r"(?:</?[A-Za-z][A-Za-z0-9-]*+(?:[\s/][^<>]*+)?>\s*+)++\Z")
_ALTERNATIVE = re.compile(r"[^\[\]|\\{}<>=\n]*[^\W\d_][^\[\]|\\{}<>=\n]*")


class TextEnd(NamedTuple):
    """The position of a mark. `is_alt`: it ends the alternative text of an image."""

    position: int
    is_alt: bool = False


def text_end(text: str, *, is_heading: bool = False, is_label: bool = False) -> TextEnd | None:
    """Return the position of a mark in a text of Markdown, or None if it must have none.

    `is_label`: the text is that of a link, in which no generator links addresses.
    """
    if _is_plain(text):
        return TextEnd(len(text))
    if "$$" in text or text.startswith(("[^", "*[")) or _is_bracketed(text) or not _has_letter(text):
        return None
    if _CALLOUT.match(text) or _TAGS.match(text):
        return None
    end = _last_part(text, is_heading, is_label)
    return end if end is not None and not _is_in_template(text, end.position) else None


def _last_part(text: str, is_heading: bool, is_label: bool) -> TextEnd | None:
    end = len(text)
    for _ in range(MAX_STEPS):
        while end and text[end - 1] in _SPACE:
            end -= 1
        line = text.rfind("\n", 0, end) + 1
        if end == 0:
            return None
        stop = line if _DIRECTIVE.match(text, line, end) else _before_last_part(text, line, end, is_heading, is_label)
        if stop == end:
            return _ended(text, line, end)
        if stop is None:
            return None
        end = stop
    return None


def _is_in_template(text: str, position: int) -> bool:
    """Return whether a position is inside of a tag of a template, for example in the address of a link."""
    return any(
        text.rfind(opening, 0, position) > text.rfind(closing, 0, position) and text.find(closing, position) >= 0
        for opening, closing in (("{{", "}}"), ("{%", "%}"))
    )


def _is_plain(text: str) -> bool:
    """Return whether a text starts with a letter and ends with a word. Most texts do, and no other rule applies."""
    last = _PLAIN_END.match(text, text.rfind(" ") + 1) if text[:1].isalpha() and "\n" not in text else None
    return last is not None and "$$" not in text and not _DIRECTIVE.match(text) and not _CALLOUT.match(text)


def _is_bracketed(text: str) -> bool:
    """Return whether a text is only a name in brackets, for example the position of a table of contents."""
    return text.startswith("[") and text.endswith("]") and not any(part in text for part in ("](", "][", "] "))


def _has_letter(text: str) -> bool:
    return any(map(str.isalnum, text))


def _before_last_part(text: str, line: int, end: int, is_heading: bool, is_label: bool) -> int | None:
    """Return the end of the text before a last part that has no mark after it, `end` if there is none."""
    if text.endswith(("}}", "%}"), line, end):
        start = max(text.rfind("{{", line, end), text.rfind("{%", line, end))
        return start if start >= 0 else None
    if text.endswith("}%", line, end) and (start := text.rfind("%{", line, end)) >= 0:
        return start  # An attribute list of VitePress whose delimiters are not those of Vue.
    if text[end - 1] == "}":
        return _before_attributes(text, line, end, is_heading)
    if text[end - 1] == "\\":
        backslashes = end - line - len(text[line:end].rstrip("\\"))
        return end - 1 if backslashes % 2 else end
    if text[end - 1] == "|":
        return None
    if match := _TAIL_TAG.search(text, max(line, end - MAX_TAIL_TAG), end):
        return match.start()
    token = max(text.rfind(space, line, end) for space in " \t") + 1 or line
    if text[token] == "^" and end - token > 1:
        return token
    stop = _before_closers(text, line, end)
    if stop == line or text[stop - 1] in _SPACE:
        return stop
    is_enclosed = is_label or any(character in text[token:stop] for character in "`>]") or _ends_with_link(text, stop)
    return token if not is_enclosed and _ADDRESS.search(text, token, stop) else end


def _before_closers(text: str, line: int, end: int) -> int:
    """Return the start of the delimiters at the end of a text, also of a quotation mark before punctuation."""
    stop = end
    while stop > line and text[stop - 1] in _PUNCTUATION:
        stop -= 1
    if stop == line or text[stop - 1] not in "\"'":
        stop = end
    while stop > line and text[stop - 1] in _CLOSERS:
        stop -= 1
    return stop


def _before_attributes(text: str, line: int, end: int, is_heading: bool) -> int | None:
    """Return the end of the text before an attribute list. One that follows a link or an emphasis belongs to it."""
    start = text.rfind("{", line, end)
    if start < 0:
        return end
    inner = text[start + 1 : end - 1]
    if inner[:1] not in (":", "#", ".", "-", "/") and "=" not in inner:
        return end
    if _DIRECTIVE_NAME.search(text, max(line, start - MAX_DIRECTIVE_NAME), start):
        return end
    is_own = start == line or text[start - 1] in _SPACE or is_heading or text[start - 1] not in ")`*_]>~"
    if is_own:
        return start
    brackets = _brackets(text, start)
    return None if brackets and _image_label(text, *brackets) else end


def _ended(text: str, line: int, end: int) -> TextEnd | None:
    """Return the mark of a text whose last part is text: before the delimiters that close it."""
    if brackets := _brackets(text, end):
        return _in_brackets(text, *brackets, end)
    if text[end - 1] == "}":
        return TextEnd(end)
    stop = _before_closers(text, line, end)
    if text[stop - 1] == "\\" and stop < end:
        return TextEnd(end) if end - stop == 1 else None
    if stop < end and (brackets := _brackets(text, stop)) and _image_label(text, *brackets):
        return None
    if text.endswith("]:", line, stop):
        return TextEnd(stop - 1)  # After the colon, the mark would be the address of a link.
    if text[stop - 1] == ">":
        return TextEnd(stop) if _is_text_before_tag(text, line, stop) else None
    if text[stop - 1] == "]" and _ends_with_embedding(text, stop):
        return None
    return TextEnd(stop)


def _is_text_before_tag(text: str, line: int, end: int) -> bool:
    start = text.rfind("<", line, end)
    if start < 0:
        return True
    tag = text[start:end]
    return bool(_AUTOLINK.match(tag)) or (bool(_END_TAG.match(tag)) and tag[2:-1] not in _EMBEDDED)


def _ends_with_embedding(text: str, end: int) -> bool:
    """Return whether a text ends with an image by label or an embedded page: `![a][b]`, `![a]` or `![[a]]`."""
    start, depth = end, 0
    while start > max(0, end - MAX_LABEL):
        start -= 1
        depth += (text[start] == "]") - (text[start] == "[")
        if depth == 0 and text[start] == "[" and text[start - 1 : start] != "]":
            break
    return text[start - 1 : start] == "!"


def _brackets(text: str, end: int) -> tuple[int, int] | None:
    """Return the positions of the brackets of the link or image with an address that ends at `end`."""
    lowest = max(0, end - MAX_LABEL)
    close = text.rfind("](", lowest, end) if text[end - 1 : end] == ")" else -1
    if close < 0 or not _closes(text, close + 1, end):
        return None
    start, depth = close + 1, 0
    while start > lowest:
        start -= 1
        depth += (text[start] == "]") - (text[start] == "[")
        if depth == 0:
            break
    return start, close


def _ends_with_link(text: str, end: int) -> bool:
    """Return whether a text ends with a link and punctuation. The address can contain spaces."""
    while end and text[end - 1] in _PUNCTUATION:
        end -= 1
    return _brackets(text, end) is not None


def _closes(text: str, start: int, end: int) -> bool:
    """Return whether the parenthesis at `start` is closed at `end`."""
    depth = 0
    for at in range(start, end):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at == end - 1
    return False


def _image_label(text: str, start: int, close: int) -> tuple[int, int] | None:
    """Return the positions of the label of an image, also of an image in a link."""
    if text[start - 1 : start] == "!":
        return start + 1, close
    return (start + 3, text.find("]", start + 3)) if text.startswith("[![", start) else None


def _in_brackets(text: str, start: int, close: int, end: int) -> TextEnd | None:
    """Return the mark of a text that ends with a link or an image.

    The mark of a text that is only a link is in its label: a list of links can be the navigation of a site.
    """
    if image := _image_label(text, start, close):
        label = text[slice(*image)]
        is_text = _ALTERNATIVE.fullmatch(label) and label[-1].isalpha() and len(label.split()) > 1
        return TextEnd(image[1], is_alt=True) if is_text else None
    if start > 0:
        return TextEnd(end)
    inner = text_end(text[1:close], is_label=True)
    return TextEnd(1 + inner.position) if inner is not None and not inner.is_alt else None
