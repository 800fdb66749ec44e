"""Preferences (spec 4.5). Every route answers the whole object."""

from flask import Blueprint

from app.http.endpoint import endpoint
from app.http.guards import own_user
from app.http.scope import Scope
from app.models.user_preference import UserPreference
from app.resources.user_preference import service
from app.resources.user_preference.schemas import (
    ChangeImpersonate,
    ChangeLanguage,
    Changes,
    ChangeTheme,
    ChangeTimezone,
    Combined,
    PreferenceView,
)

blueprint = Blueprint("user_preference", __name__)
OWN = own_user("id", words="verifyAuth+self (decided)")
READ = "user_preference.read"


@blueprint.get("/<id>")
@endpoint(guard=OWN, result=PreferenceView, message="Preferences found")
def read(scope: Scope) -> UserPreference:
    """Return theme, language, time zone and attribution."""
    return service.read(scope.user)


@blueprint.patch("/theme/<id>")
@endpoint(guard=OWN, body=ChangeTheme, result=PreferenceView, message="Theme updated", current=READ)
def change_theme(scope: Scope, body: Changes) -> UserPreference:
    """Choose light, dark or the system's theme."""
    return service.change(scope.user, body)


@blueprint.patch("/language/<id>")
@endpoint(guard=OWN, body=ChangeLanguage, result=PreferenceView, message="Language updated", current=READ)
def change_language(scope: Scope, body: Changes) -> UserPreference:
    """Choose the language of the interface."""
    return service.change(scope.user, body)


@blueprint.patch("/timezone/<id>")
@endpoint(guard=OWN, body=ChangeTimezone, result=PreferenceView, message="Time zone updated", current=READ)
def change_timezone(scope: Scope, body: Changes) -> UserPreference:
    """Choose the local time zone."""
    return service.change(scope.user, body)


@blueprint.patch("/impersonate/<id>")
@endpoint(guard=OWN, body=ChangeImpersonate, result=PreferenceView, message="Attribution updated", current=READ)
def change_impersonate(scope: Scope, body: Changes) -> UserPreference:
    """Choose whether commits name the person or the bot alone."""
    return service.change(scope.user, body)


@blueprint.patch("/<id>")
@endpoint(guard=OWN, body=Combined, result=PreferenceView, message="Preferences updated", current=READ)
def change(scope: Scope, body: Changes) -> UserPreference:
    """Change several preferences at once, all or none."""
    return service.change(scope.user, body)
