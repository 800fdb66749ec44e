"""JSON replies of models: a schema for the provider and a validation by the rules of the contract.

The schemas use only keywords that the strict mode of every provider supports (no lengths, no patterns). The validation
checks the rest. It raises ValueError with a message that is sent to the model.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.drivers.ai.port import OutputSchema

SUBJECT_CHARACTERS = 72
TITLE_CHARACTERS, DESCRIPTION_CHARACTERS = 60, 160
OG_TITLE_CHARACTERS, OG_DESCRIPTION_CHARACTERS = 95, 200
MAX_KEYWORDS = 20
TYPES = ("feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert")
_SCOPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,39}")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_TRAILER = re.compile(r"^(co-authored-by|signed-off-by):", re.IGNORECASE | re.MULTILINE)
_TEXT = {"type": "string"}


def _object(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


COMMIT = OutputSchema(
    "commit_message",
    _object(
        type={"type": "string", "enum": list(TYPES)},
        scope={"type": "string", "description": "empty where no one scope fits"},
        subject=_TEXT,
        body={"type": "string", "description": "empty where nothing is to be added"},
    ),
)
METADATA = OutputSchema(
    "page_metadata",
    _object(
        title=_TEXT,
        description=_TEXT,
        keywords={"type": "array", "items": _TEXT},
        slug=_TEXT,
        og=_object(title=_TEXT, description=_TEXT),
    ),
)
SEO_FIX = OutputSchema(
    "mended_page",
    _object(content=_TEXT, changes={"type": "array", "items": _object(id=_TEXT, summary=_TEXT)}),
)


def commit_message(value: Mapping[str, object]) -> dict[str, object]:
    """`{type, scope, subject, body}` and the whole as `text`; the whole first line has at most 72 characters."""
    kind, scope = _text(value, "type"), _text(value, "scope", least=0) or None
    subject = _line(value, "subject").removesuffix(".")
    body = _CONTROL.sub("", _text(value, "body", least=0).replace("\r\n", "\n"))
    if kind not in TYPES:
        raise ValueError(f"type must be one of {', '.join(TYPES)}")
    if scope is not None and not _SCOPE.fullmatch(scope):
        raise ValueError("scope must be one short word, or empty")
    first = f"{kind}({scope}): {subject}" if scope else f"{kind}: {subject}"
    if len(first) > SUBJECT_CHARACTERS:
        raise ValueError(f"'{first}' has {len(first)} characters; at most {SUBJECT_CHARACTERS} are allowed")
    if _TRAILER.search(body):
        raise ValueError("the body may name no authors")
    text = f"{first}\n\n{body}" if body else first
    return {"text": text, "type": kind, "scope": scope, "subject": subject, "body": body}


def page_metadata(value: Mapping[str, object]) -> dict[str, object]:
    """`{title, description, keywords, slug, og}` within their lengths."""
    og = value.get("og")
    if not isinstance(og, dict):
        raise ValueError("og must be an object")  # noqa: TRY004 (one kind of failure for the repair round)
    slug = _line(value, "slug", most=100)
    if not _SLUG.fullmatch(slug):
        raise ValueError("slug may hold lower-case a-z, 0-9 and single hyphens only")
    return {
        "title": _line(value, "title", most=TITLE_CHARACTERS),
        "description": _line(value, "description", most=DESCRIPTION_CHARACTERS),
        "keywords": _keywords(value.get("keywords")),
        "slug": slug,
        "og": {
            "title": _line(og, "title", most=OG_TITLE_CHARACTERS),
            "description": _line(og, "description", most=OG_DESCRIPTION_CHARACTERS),
        },
    }


def fixed_page(ids: Sequence[str]) -> Callable[[Mapping[str, object]], dict[str, Any]]:
    """A check for `{content, changes}` of a page with these issues; its changes name only them, each once."""

    def check(value: Mapping[str, object]) -> dict[str, object]:
        changes = value.get("changes")
        if not isinstance(changes, list) or not all(isinstance(change, dict) for change in changes):
            raise ValueError("changes must be a list of objects")
        summaries = [{"id": _text(change, "id"), "summary": _line(change, "summary", most=500)} for change in changes]
        named = [change["id"] for change in summaries]
        if len(set(named)) != len(named) or not set(named) <= set(ids):
            raise ValueError(f"changes must name each of these ids at most once: {', '.join(ids)}")
        return {"content": _text(value, "content", strip=False), "changes": summaries}

    return check


def _keywords(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(keyword, str) and keyword.strip() for keyword in value):
        raise ValueError("keywords must be a list of words")
    keywords = list(dict.fromkeys(" ".join(keyword.split()) for keyword in value))
    if not 1 <= len(keywords) <= MAX_KEYWORDS:
        raise ValueError(f"there must be 1 to {MAX_KEYWORDS} keywords")
    return keywords


def _text(value: Mapping[str, object], name: str, *, least: int = 1, strip: bool = True) -> str:
    text = value.get(name)
    if not isinstance(text, str) or len(text.strip()) < least:
        raise ValueError(f"{name} must be text")
    return text.strip() if strip else text


def _line(value: Mapping[str, object], name: str, *, most: int = 1000) -> str:
    text = " ".join(_text(value, name).split())
    if len(text) > most:
        raise ValueError(f"{name} has {len(text)} characters; at most {most} are allowed")
    return text
