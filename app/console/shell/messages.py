"""Texts for the outcome of a form: the notice after a redirect, errors, and translated messages of services."""

import re
from functools import cache

from app.console.shell.translation import gettext
from app.console.shell.translation import gettext as _
from app.core.errors import AppError, InvalidRequest

TEXTS = (
    "A branch of this name already exists",
    "A file or folder of this name already exists",
    "A repository of this name already exists",
    "An organization has at most %(limit)s active projects",
    "An organization has at most %(limit)s members",
    "An organization of this name already exists",
    "At most %(limit)s active projects can be owned",
    "At most %(limit)s organizations can be owned",
    "Connect a repository to this project first",
    "Connect an account of this provider first",
    "Do not use your own e-mail address",
    "Length must be between %(min)s and %(max)s.",
    "Local repositories are disabled on this installation",
    "Longer than maximum length %(max)s.",
    "Missing data for required field.",
    "Must be an e-mail address.",
    "Must contain letters, digits, “.”, “_” and “-” only and start with a letter or digit.",
    "Must not be empty.",
    "Must not contain a URL.",
    "Other repositories of the organization are still being cloned",
    "Sign in again or send your password",
    "Some fields do not match the schema. Nothing was saved",
    "Some files have changed since you opened them. Nothing was saved",
    "The URL of a repository starts with https:// and has no password",
    "The archive is damaged",
    "The archive is too large after decompression",
    "The current password is wrong",
    "The default organization cannot be deleted",
    "The e-mail address or the password is wrong",
    "The external service did not respond in time",
    "The file is not a zip or tar.gz archive",
    "The form has too many fields",
    "The form is too large",
    "The host of the repository must have a public address",
    "The organization or project is archived. Make it active first",
    "The owner cannot leave. Transfer the organization to another member first",
    "The path must be relative, without empty, “.” or “..” segments",
    "The path must not be in a “.git” folder",
    "The preview could not be started",
    "The repository has no branch",
    "The repository is too large to be cloned",
    "The repository or branch does not exist",
    "The service is temporarily unavailable. Try again shortly",
    "There is already a project of this name in the organization",
    "There is no public repository at this URL, or Git finds faults in it",
    "There is no such file",
    "This branch does not exist",
    "This field is required",
    "This file has changed since you opened it",
    "This installation does not accept new accounts without an invitation",
    "This must be a date",
    "This must be a number",
    "This must be a text",
    "This must be one of %(options)s",
    "This password is too easy to guess. Choose another one",
    "This user is already a member",
    "Too many requests. Try again in %(time)s",
    "Too many wrong codes. Request a new one",
    "Use at least %(count)s characters",
    "%(name)s: links and devices are not accepted",
    "%(name)s: the archive contains two entries of this name",
)
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the messages with placeholders as regular expressions."""
    return tuple((_pattern(text), text) for text in TEXTS if _PLACEHOLDER.search(text))


def _pattern(text: str) -> re.Pattern[str]:
    parts = _PLACEHOLDER.split(text)
    names = iter(parts[1::2])
    return re.compile("".join(re.escape(part) + _group(next(names, None)) for part in parts[::2]), re.DOTALL)


def _group(name: str | None) -> str:
    return f"(?P<{name}>.+)" if name is not None else ""


def translate(message: str) -> str:
    """Return a message of a service in the language of the response."""
    if message in TEXTS:
        return gettext(message)
    for pattern, text in _patterns():
        match = pattern.fullmatch(message)
        if match is not None:
            return gettext(text, **match.groupdict())
    return message


def notice(name: str | None) -> str | None:
    """Return the notice of a finished action, or None for an unknown name."""
    texts = {
        "saved": _("Saved"),
        "created": _("Created"),
        "deleted": _("Deleted"),
        "renamed": _("Renamed"),
        "moved": _("Moved"),
        "restored": _("Restored"),
        "invited": _("Invitation sent"),
        "removed": _("Removed"),
        "revoked": _("Revoked"),
        "left": _("You have left the organization"),
        "connected": _("Repository connected"),
        "account-connected": _("Account connected"),
        "code": _("If the address has an unverified account, a new code was sent"),
        "reset": _("If the address has an account, a link was sent"),
        "password": _("Password changed"),
        "signed-out": _("You are signed out"),
        "uploaded": _("Uploaded"),
        "draft-deleted": _("Draft deleted"),
        "unchanged": _("Nothing was changed"),
        "ended": _("Session ended"),
        "queued": _("The content is read again"),
        "stopped": _("Preview stopped"),
        "retried": _("The job waits again"),
        "canceled": _("Subscription canceled"),
    }
    return texts.get(name or "")


def error_text(error: AppError) -> str:
    """Return the text above a form that failed."""
    texts = {
        "VALIDATION_FAILED": _("Some fields need a correction"),
        "INVALID_OTP": _("The code is wrong or expired"),
        "INVALID_ORIGIN": _(
            "This page was opened under another address. Open the console at its own address and try again"
        ),
        "INVALID_TOKEN": _("The link is not valid anymore. Ask for a new one"),
        "NOT_ALLOWED": _("You are not allowed to do this"),
        "NOT_FOUND": _("This page does not exist, or it was deleted"),
        "INTERNAL": _("Something went wrong. Try again"),
    }
    if error.code == InvalidRequest.code and not error.fields and error.message != InvalidRequest.message:
        return translate(error.message)
    return texts.get("INTERNAL" if error.status == 500 else error.code) or translate(error.message)
