"""Texts of the document that belong to no route: parameters, permissions and rates."""

from app.access.guards import Guard
from app.core.clock import format_duration
from app.core.limits import InputLimits
from app.core.rates import Rate, RateLimits
from app.http.endpoint import Endpoint

PARAMETERS: dict[str, str] = {
    "cursor": "`meta.next_cursor` of the previous page.",
    "file": "The path of a file, as it is in Git.",
    "id": "The id of the object.",
    "limit": f"The largest number of items. A value above {InputLimits.page_size_max} is reduced to it.",
    "ref": "The name of a branch. The default is the working branch.",
}
"""Descriptions of parameters that have one meaning in all routes."""

FIELDS: dict[str, str] = {
    "statusCode": "The HTTP status.",
    "success": "Whether the request succeeded.",
    "message": "A sentence for people.",
    "next_cursor": "The value of `cursor` for the next page, or null on the last page.",
    "total": "The number of all items.",
    "result": "The result of the request.",
    "errorMessage": "The invalid fields, empty for other failures.",
}
"""Descriptions of the fields of the envelope and of lists."""

_PERMISSIONS: dict[str, str] = {
    "public": "No sign-in is needed.",
    "public+rate": "No sign-in is needed. The rate per address is limited.",
    "public+state": "No sign-in is needed. The one-time state of the start is checked.",
    "public+token": "No sign-in is needed. The token of the mailed link is checked.",
    "public+signature": "No sign-in is needed. The signature of the sender is checked.",
    "session": "Needs a session. The e-mail address may be unverified.",
    "verifyAuth": "Needs a user with a verified e-mail address.",
    "verifyAuth+self": "Only for the user that the path names.",
    "verifyAuth+self+fresh": "Only for the user that the path names, with a recent sign-in or the password.",
    "memberOfOrg": "For all members of the organization that owns the project.",
    "verifyAuth; memberOfOrg if projectId given": "Needs a user with a verified e-mail address, and membership if a "
    "project is named.",
    "owner": "Only for the owner of the organization.",
    "owner,admin": "For owners and admins of the organization.",
    "owner,admin of body org": "For owners and admins of the organization in the body.",
    "owner,admin,editor": "For all members of the organization.",
    "org:DELETE_ORG on source AND destination": "Only for the owner of both organizations.",
    "org:MANAGE_PROJECTS of body org": "Needs the permission `org:MANAGE_PROJECTS` in the organization in the body.",
    "platform admin": "Only for platform admins.",
}


def permission_text(guard: Guard) -> str:
    """Return who may call a route, as a sentence."""
    if guard.description:
        return guard.description
    name = guard.spec_name.replace(" (decided)", "")
    if name in _PERMISSIONS:
        return _PERMISSIONS[name]
    if name.startswith("org:") and " " not in name:
        return f"Needs the permission `{name}` in the organization."
    return f"Permission: {name}."


def rate_text(declared: Endpoint) -> str:
    """Return the rates of a route with its own row in the rate table, as a sentence."""
    rates = RateLimits()
    parts = [
        f"{', '.join(map(_rate, getattr(rates, name)))} per {counted}"
        for name, counted in ((declared.rate, "user"), (f"{declared.rate}_address", "client address"))
        if name and hasattr(rates, name)
    ]
    return f"Rate: {'; '.join(parts)}." if declared.rate and parts else ""


def _rate(rate: Rate) -> str:
    return f"{rate.times} in {format_duration(rate.per_s)}"
