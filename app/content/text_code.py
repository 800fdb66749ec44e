"""Parts of Markdown that no site reads as Markdown: code, comments and raw text of Liquid."""

import re

_FENCE = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?(`{3,}|~{3,})")
_RAW = (("<!--", "-->"), ("{% raw %}", "{% endraw %}"), ("{% highlight", "{% endhighlight %}"))
_CODE = re.compile(r"`[^`\n]{1,1000}`")
_SHOWN = re.compile(r"[^\r\n]")


def blank_code(text: str) -> str:
    """Return a text of Markdown with spaces instead of its code, comments and raw text of Liquid.

    The positions of the other characters do not change.
    """
    lines, fence = list[str](), ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        is_code = mark is not None or fence != ""
        if mark is not None and not fence:
            fence = mark[1]
        elif mark is not None and mark[1].startswith(fence):
            fence = ""
        lines.append(_blank(line) if is_code else line)
    result = _CODE.sub(lambda match: _blank(match[0]), "".join(lines))
    for start, end in _RAW:
        first, *parts = result.split(start)
        result = first + "".join(_blank_before(start + part, end) for part in parts)
    return result


def _blank(text: str) -> str:
    return _SHOWN.sub(" ", text)


def _blank_before(text: str, end: str) -> str:
    before, mark, after = text.partition(end)
    return _blank(before + mark) + after
