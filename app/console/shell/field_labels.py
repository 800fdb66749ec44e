"""Labels of fields: the words of a key of the front matter, translated for common keys."""

import re

from app.console.shell.translation import gettext
from app.content.schema.validation import marked

COMMON = frozenset(
    {
        marked("Author"),
        marked("Authors"),
        marked("Categories"),
        marked("Category"),
        marked("Cover image"),
        marked("Date"),
        marked("Description"),
        marked("Draft"),
        marked("Image"),
        marked("Keywords"),
        marked("Language"),
        marked("Last modified"),
        marked("Layout"),
        marked("Link"),
        marked("Link title"),
        marked("Links"),
        marked("Name"),
        marked("Order"),
        marked("Publish date"),
        marked("Published"),
        marked("Summary"),
        marked("Tags"),
        marked("Title"),
        marked("Type"),
        marked("Updated"),
        marked("Weight"),
    }
)
ABBREVIATIONS = frozenset({"css", "faq", "html", "id", "pdf", "rss", "seo", "uri", "url"})
SYNONYMS = {"Lastmod": "Last modified", "Pub date": "Publish date", "Publishdate": "Publish date"}
_BREAK = re.compile(r"[-_\s]+|(?<=[a-z0-9])(?=[A-Z])")


def label_of(name: str) -> str:
    """Return the words of a key, for example `Link title` for `link_title` and `linkTitle`."""
    parts = [part for part in _BREAK.split(name) if part]
    if not parts:
        return name
    text = " ".join(part.upper() if part.lower() in ABBREVIATIONS else _lower(part) for part in parts)
    label = text[0].upper() + text[1:]
    label = SYNONYMS.get(label, label)
    return gettext(label) if label in COMMON else label


def _lower(part: str) -> str:
    """Return a word in lower case, unless it is an abbreviation."""
    return part if len(part) > 1 and part.isupper() else part.lower()
