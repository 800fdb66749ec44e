"""Routes of preferences (spec 4.5). Each route returns the complete object."""

from app.access.scope import UserScope
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.models.user import UserPreference
from app.resources.user_preference import service
from app.resources.user_preference.guards import CHANGE
from app.resources.user_preference.schemas import (
    ChangeImpersonateBody,
    ChangeLanguageBody,
    ChangeThemeBody,
    ChangeTimezoneBody,
    PreferencesBody,
    PreferenceSchema,
)

blueprint = ApiBlueprint(
    "user_preference",
    __name__,
    title="Preferences",
    noun="user preference",
    description="Theme, language, time zone and attribution of commits of a user.",
)


@blueprint.get("/<id>")
@endpoint(guard=CHANGE.guard, result=PreferenceSchema, message="Preferences found")
def read(*, scope: UserScope) -> UserPreference:
    """Return theme, language, time zone and attribution."""
    return service.read(scope.caller)


@blueprint.patch("/theme/<id>")
@endpoint(**vars(CHANGE), body=ChangeThemeBody, result=PreferenceSchema, message="Theme updated")
def update_theme(*, scope: UserScope, body: ChangeThemeBody) -> UserPreference:
    """Choose light, dark or the system's theme."""
    return service.change(scope.caller, body.sent())


@blueprint.patch("/language/<id>")
@endpoint(**vars(CHANGE), body=ChangeLanguageBody, result=PreferenceSchema, message="Language updated")
def update_language(*, scope: UserScope, body: ChangeLanguageBody) -> UserPreference:
    """Choose the language of the interface."""
    return service.change(scope.caller, body.sent())


@blueprint.patch("/timezone/<id>")
@endpoint(**vars(CHANGE), body=ChangeTimezoneBody, result=PreferenceSchema, message="Time zone updated")
def update_timezone(*, scope: UserScope, body: ChangeTimezoneBody) -> UserPreference:
    """Choose the local time zone."""
    return service.change(scope.caller, body.sent())


@blueprint.patch("/impersonate/<id>")
@endpoint(**vars(CHANGE), body=ChangeImpersonateBody, result=PreferenceSchema, message="Attribution updated")
def update_impersonate(*, scope: UserScope, body: ChangeImpersonateBody) -> UserPreference:
    """Choose whether commits name the person or the bot alone."""
    return service.change(scope.caller, body.sent())


@blueprint.patch("/<id>")
@endpoint(**vars(CHANGE), body=PreferencesBody, result=PreferenceSchema, message="Preferences updated")
def update(*, scope: UserScope, body: PreferencesBody) -> UserPreference:
    """Change several preferences at once, all or none."""
    return service.change(scope.caller, body.sent())
