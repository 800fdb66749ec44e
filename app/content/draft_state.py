"""The draft state of a page: the field of the front matter that marks drafts, and its values."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class DraftField:
    """A field that marks drafts. `draft` and `public` are the values to write, `drafts` are all values of drafts."""

    name: str
    draft: object = True
    public: object = False
    drafts: tuple[object, ...] = (True,)

    def marks(self, values: Mapping[str, object]) -> bool:
        """Return whether the front matter of a page marks it as a draft. A missing value does not."""
        value = values.get(self.name)
        return any(value is draft or (isinstance(draft, str) and value == draft) for draft in self.drafts)


DRAFT_FIELDS = (DraftField("draft"), DraftField("published", draft=False, public=True, drafts=(False,)))
"""The fields of Hugo, Astro, Eleventy and Jekyll. A page with one of these values is a draft."""


def read_draft_field(settings: object) -> DraftField | None:
    """Return the field of the setting `draftField` of Front Matter CMS, or None if it is missing or invalid.

    With `invert`, pages with `false` are drafts. Of several choices, the last one is that of published pages.
    """
    name = settings.get("name") if isinstance(settings, Mapping) else None
    if not isinstance(settings, Mapping) or not isinstance(name, str) or not name:
        return None
    if settings.get("type") == "choice":
        listed = settings.get("choices")
        choices = [value for value in listed if isinstance(value, str)] if isinstance(listed, list) else []
        return DraftField(name, choices[0], choices[-1], tuple(choices[:-1])) if len(choices) > 1 else None
    if settings.get("invert") is True:
        return DraftField(name, draft=False, public=True, drafts=(False,))
    return DraftField(name)


def draft_field_of(values: Mapping[str, object]) -> DraftField | None:
    """Return the usual field that marks drafts and that front matter has, or None."""
    return next((field for field in DRAFT_FIELDS if isinstance(values.get(field.name), bool)), None)


def is_draft(values: Mapping[str, object], field: DraftField | None = None) -> bool:
    """Return whether front matter marks a draft. `field` is that of the collection, if it has one."""
    fields = DRAFT_FIELDS if field is None or field in DRAFT_FIELDS else (field,)
    return any(field.marks(values) for field in fields)


def field_to_write(values: Mapping[str, object], field: DraftField | None) -> DraftField:
    """Return the field that changes the state of a page: that of the settings, else of the page or its collection."""
    if field is not None and field not in DRAFT_FIELDS:
        return field
    marking = (field for field in DRAFT_FIELDS if field.marks(values))
    return next(marking, None) or draft_field_of(values) or field or DRAFT_FIELDS[0]
