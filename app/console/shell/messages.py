"""Texts for the outcome of a form: the notice after a redirect, errors, and translated messages of services."""

from app.console.shell.translation import gettext
from app.console.shell.translation import gettext as _
from app.core.errors import AppError, ErrorMessage, InvalidRequest


def translate(message: str) -> str:
    """Return a message of a service in the language of the response. A stored message has no values."""
    if isinstance(message, ErrorMessage):
        return gettext(message.template, **message.values)
    return gettext(message) if message else ""


def notice(name: str | None) -> str | None:
    """Return the notice of a finished action, or None for an unknown name."""
    texts = {
        "saved": _("Saved"),
        "proposed": _("Proposed. The site has not changed yet."),
        "set-ended": _("The changes that you edited are published or closed. This is the page of the site."),
        "created": _("Created"),
        "shared": _("The link is ready. Copy its address."),
        "mailed": _("The link was sent."),
        "link-ended": _("The link has ended."),
        "saved-renamed": _("Saved. An image got another name, because the site has a new file with its name."),
        "deleted": _("Deleted"),
        "renamed": _("Renamed"),
        "moved": _("Moved"),
        "moved-partly": _("The page is in both proposals now. Move it again to remove it here."),
        "restored": _("Restored"),
        "undone": _("Undone"),
        "taken-back": _("Taken back"),
        "taken-back-before": _("These changes are taken back already"),
        "undo-conflicts": _(
            "Later changes touch the same texts. The site has not changed. Choose the text of each part, then publish."
        ),
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
        "replied": _("Reply sent"),
        "ended": _("Session ended"),
        "queued": _("The content is read again"),
        "stopped": _("Preview stopped"),
        "retried": _("The job waits again"),
        "code-sent": _("A code was sent."),
        "factor-removed": _("The second factor was removed."),
        "canceled": _("Subscription canceled"),
        "tested": _("The test is on its way"),
        "resent": _("The messages are sent again"),
        "submitted": _("In review"),
        "approve": _("Approved"),
        "changes": _("Changes requested"),
        "commented": _("Saved"),
        "published": _("Published"),
        "scheduled": _("Saved"),
        "resolved": _("Your choices are stored. Publish the changes again"),
        "closed": _("Closed"),
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
        "CHANGE_SET_REQUIRED": _("This project only accepts proposed changes. Select “Propose”."),
        "NOT_ALLOWED": _("You are not allowed to do this"),
        "NOT_FOUND": _("This page does not exist, or it was deleted"),
        "INTERNAL": _("Something went wrong. Try again"),
        "STATE": _("These changes have moved on in the meantime. Look at them again"),
        "BRANCH_GONE": _("These changes were deleted outside of Galley."),
        "BRANCH_BUSY": _("Someone else is saving these changes right now. Try again"),
        "NOT_APPROVED": _("These changes do not have enough approvals yet. Ask other people for a review"),
        "STALE_APPROVAL": _("These changes were edited after that. They need another look"),
        "ALREADY_PUBLISHED": _("These changes are on the site."),
        "NOTHING_TO_PUBLISH": _("These changes change nothing on the site"),
        "STORAGE_LIMIT": _("The storage for built sites is full. Ask an owner or administrator."),
        "OWN_REVIEW": _(
            "A colleague has to review these changes, because you edited them. If everyone has edited them, an owner"
            " can invite a reviewer or require fewer approvals."
        ),
    }
    if error.code == InvalidRequest.code and not error.fields and error.message != InvalidRequest.message:
        return translate(error.message)
    return texts.get("INTERNAL" if error.status == 500 else error.code) or translate(error.message)
