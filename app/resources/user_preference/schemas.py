"""Request bodies and response schema of preferences (spec 8; contract 4.5)."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import Schema, ValidationError, fields, validate

from app.core.locales import LANGUAGES, is_time_zone
from app.http.json_schema import described
from app.http.validation import ABSENT, Absent, BoundedList, DateTimeMs, RequestBody, StrictBoolean
from app.models.change_set import NoticeKind
from app.models.user import Theme

THEMES, NOTICES = [theme.value for theme in Theme], [kind.value for kind in NoticeKind]

DEVELOPER_VIEW = {"description": "Whether the console shows paths, branches and versions"}
MUTED_MAILS = {"description": "News about change sets that are not mailed"}


def _theme(*, required: bool) -> fields.String:
    return fields.String(required=required, validate=validate.OneOf(THEMES))


def _language(*, required: bool) -> fields.String:
    return fields.String(required=required, validate=validate.OneOf(LANGUAGES))


def _timezone(*, required: bool) -> fields.String:
    return fields.String(required=required, validate=_is_zone)


def _notice() -> fields.String:
    return fields.String(validate=validate.OneOf(NOTICES))


@described(pattern="^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$", description="A name of the IANA time zone database")
def _is_zone(value: str) -> None:
    if not is_time_zone(value):
        raise ValidationError("Must be an IANA time zone.")


@dataclass(frozen=True, kw_only=True)
class PreferencesBody(RequestBody):
    """Any of the preferences. A field that is not sent stays unchanged."""

    theme: Annotated[str | Absent, _theme(required=False)] = ABSENT
    language: Annotated[str | Absent, _language(required=False)] = ABSENT
    timezone: Annotated[str | Absent, _timezone(required=False)] = ABSENT
    impersonate: Annotated[bool | Absent, StrictBoolean()] = ABSENT
    developer_view: Annotated[bool | Absent, StrictBoolean(metadata=DEVELOPER_VIEW)] = ABSENT
    muted_mails: Annotated[
        list[str] | Absent, BoundedList(_notice(), max_length=len(NOTICES), metadata=MUTED_MAILS)
    ] = ABSENT


@dataclass(frozen=True, kw_only=True)
class ChangeThemeBody(RequestBody):
    """The theme of the interface."""

    theme: Annotated[str, _theme(required=True)]


@dataclass(frozen=True, kw_only=True)
class ChangeLanguageBody(RequestBody):
    """A language of the interface and of mails."""

    language: Annotated[str, _language(required=True)]


@dataclass(frozen=True, kw_only=True)
class ChangeTimezoneBody(RequestBody):
    """A time zone."""

    timezone: Annotated[str, _timezone(required=True)]


@dataclass(frozen=True, kw_only=True)
class ChangeImpersonateBody(RequestBody):
    """The attribution of commits. True names the bot only."""

    impersonate: Annotated[bool, StrictBoolean(required=True)]


class PreferenceSchema(Schema):
    """Preferences of a user."""

    user_id = fields.String()
    theme = fields.String(validate=validate.OneOf(THEMES))
    language = fields.String(validate=validate.OneOf(LANGUAGES))
    timezone = fields.String()
    impersonate = fields.Boolean()
    developer_view = fields.Boolean(metadata=DEVELOPER_VIEW)
    muted_mails = fields.List(_notice(), metadata=MUTED_MAILS)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)
    updatedAt = DateTimeMs(attribute="updated_at")  # noqa: N815 (wire name)
