"""What preferences may be (spec 8; contract 4.5)."""

from typing import TypedDict

from marshmallow import Schema, ValidationError, fields, validate

from app.core.locales import LANGUAGES, is_time_zone
from app.http.validation import Body, Flag, Moment
from app.models.user_preference import Theme

THEMES = [theme.value for theme in Theme]


def _theme(*, required: bool) -> fields.String:
    return fields.String(required=required, validate=validate.OneOf(THEMES))


def _language(*, required: bool) -> fields.String:
    return fields.String(required=required, validate=validate.OneOf(LANGUAGES))


def _timezone(*, required: bool) -> fields.String:
    return fields.String(required=required, validate=_is_zone)


def _is_zone(value: str) -> None:
    if not is_time_zone(value):
        raise ValidationError("This is not an IANA time zone.")


class Combined(Body):
    """Any of the preferences; what is not named stays."""

    theme = _theme(required=False)
    language = _language(required=False)
    timezone = _timezone(required=False)
    impersonate = Flag()


class ChangeTheme(Body):
    """The look of the interface."""

    theme = _theme(required=True)


class ChangeLanguage(Body):
    """The language of the interface and of mails."""

    language = _language(required=True)


class ChangeTimezone(Body):
    """The local time zone."""

    timezone = _timezone(required=True)


class ChangeImpersonate(Body):
    """True attributes commits to the bot alone."""

    impersonate = Flag(required=True)


class Changes(TypedDict, total=False):
    """What each of these loads: only what was named."""

    theme: str
    language: str
    timezone: str
    impersonate: bool


class PreferenceView(Schema):
    """Preferences as shown."""

    user_id = fields.String()
    theme = fields.String()
    language = fields.String()
    timezone = fields.String()
    impersonate = fields.Boolean()
    createdAt = Moment(attribute="created_at")  # noqa: N815 (wire name)
    updatedAt = Moment(attribute="updated_at")  # noqa: N815 (wire name)
