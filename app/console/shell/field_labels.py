"""Labels of fields and names of pages: the words of a key or a path, translated for common keys."""

import re

from app.console.shell.translation import gettext
from app.content.data_text import is_data
from app.content.entry_files import folder_of_index, is_index, is_page
from app.content.schema.columns import DATED_NAME
from app.content.schema.inferred import ROOTS
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


def folder_label(path: str, start: str = "", label: str = "") -> str:
    """Return the words of a folder. `label` is that of the collection whose folder is the start of the path."""
    parts = path[len(start) :].strip("/").split("/")
    return " / ".join(
        filter(None, [label, *(label_of(part) for part in parts if label or part not in ROOTS)])
    ) or label_of(path)


def page_name(path: str) -> str:
    """Return the words of a path without folders, date and ending: the title of a page that has none.

    An `index` page has the name of its folder. A file that is no page and no data has the name of the file.
    """
    folder, _slash, name = path.rpartition("/")
    if not is_page(path) and not is_data(path):
        return name
    if is_index(path) and folder_of_index(path) is None and (not folder or folder.partition("/")[0] in ROOTS):
        return gettext("Start page")
    stem = folder.rpartition("/")[2] if folder and is_index(path) else name.partition(".")[0]
    return label_of(DATED_NAME.sub("", stem).strip("-_") or name)
