"""Texts about change sets for people who know no Git: states, the next step, times, and parts of pages."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.console.project.changes import pointer_label
from app.console.shell import dates
from app.console.shell.messages import translate
from app.console.shell.translation import current_language
from app.console.shell.translation import gettext as _
from app.content.page_changes import PageChanges
from app.models.change_set import ChangeSetState as State
from app.models.change_set import NoticeKind, ScheduledAction
from app.resources.change_set.states import Step

POINTER, BLOCK = "pointer:", "block:"
MAX_QUOTE = 60
"""The characters of a paragraph or a comment that a line names."""


def state_label(state: str) -> str:
    """Return the name of a state."""
    return {
        State.DRAFT: _("Draft"),
        State.IN_REVIEW: _("In review"),
        State.CHANGES_REQUESTED: _("Changes requested"),
        State.APPROVED: _("Approved"),
        State.SCHEDULED: _("Scheduled"),
        State.PUBLISHING: _("Publishing"),
        State.PUBLISHED: _("Published"),
        State.REVERTED: _("Taken back"),
        State.CLOSED: _("Closed"),
        State.FAILED: _("Failed"),
    }[State(state)]


def state_tone(state: str) -> str:
    """Return the colour of a state: the modifier of a badge, or an empty text."""
    tones = {
        State.IN_REVIEW: "accent",
        State.CHANGES_REQUESTED: "warning",
        State.FAILED: "danger",
        State.APPROVED: "success",
        State.SCHEDULED: "accent",
        State.PUBLISHING: "accent",
        State.PUBLISHED: "success",
    }
    return tones.get(State(state), "")


STATE_TEXTS: dict[str, Any] = {"state_label": state_label, "state_tone": state_tone}
"""The functions of the templates for states."""


def next_step(shown: Mapping[str, Any], steps: Collection[Step], *, is_own: bool, is_reviewed: bool) -> str:
    """Return a sentence with what happens next and who has to act.

    `steps` are those that the reader can take. `is_own` is true for an author of the set, `is_reviewed` if the reader
    has approved it.
    """
    state = State(shown["state"])
    if state in (State.DRAFT, State.CHANGES_REQUESTED):
        return _preparation(state, bool(shown["files"]), steps)
    if state is State.IN_REVIEW:
        return _review(shown["created_by"]["name"], steps, is_own=is_own, is_reviewed=is_reviewed)
    if state is State.APPROVED:
        if Step.PUBLISH in steps:
            return _("These changes are approved. Publish them now or at a later time.")
        return _("These changes are approved. An owner or administrator publishes them.")
    if state in (State.SCHEDULED, State.PUBLISHED) and shown["schedule"] is not None:
        return schedule_text(shown["schedule"])
    return {
        State.PUBLISHING: _("These changes are being published. You do not have to do anything."),
        State.PUBLISHED: _("These changes are on the site."),
        State.REVERTED: _("These changes were on the site and have been taken back."),
        State.CLOSED: _("These changes were closed. They are not on the site."),
        State.FAILED: _("These changes could not be published. They are not on the site."),
        State.SCHEDULED: "",
    }[state]


def _preparation(state: State, has_pages: bool, steps: Collection[Step]) -> str:
    if not has_pages:
        return _("These changes are empty. Open a page, edit it, and propose it for these changes.")
    if state is State.CHANGES_REQUESTED:
        return _("A reviewer asked for changes. Edit the pages, then ask for a review again.")
    if Step.PUBLISH in steps:
        return _("These changes are not on the site yet. Publish them, or ask for a review.")
    return _("These changes are not on the site yet. Ask for a review when they are complete.")


def _review(creator: str | None, steps: Collection[Step], *, is_own: bool, is_reviewed: bool) -> str:
    if is_own and Step.PUBLISH not in steps:
        return _(
            "A colleague has to review these changes, because you edited them. If everyone has edited them, an owner"
            " can invite a reviewer or require fewer approvals."
        )
    if is_own or is_reviewed or Step.REVIEW not in steps:
        return _("These changes wait for another review.")
    person = creator or _("Deleted user")
    return _(
        "%(person)s asks for a review. Read the changed pages, then approve them or ask for changes.", person=person
    )


def schedule_text(planned: Mapping[str, Any]) -> str:
    """Return a sentence with the action and the time of a schedule in its zone."""
    if planned["action"] == ScheduledAction.UNPUBLISH:
        return _("These changes are on the site. They are taken back on %(time)s.", time=schedule_time(planned))
    return _("These changes are published on %(time)s.", time=schedule_time(planned))


def schedule_time(planned: Mapping[str, Any]) -> str:
    """Return the day and the minute of a schedule with the name of its zone, and those of the reader's other zone."""
    due, zone, own, language = planned["due_at"], planned["timezone"], dates.user_zone_name(), current_language()
    text = f"{dates.in_zone(due, zone, language)} ({dates.shown_zone(zone, language)})"
    return text if zone == own else text + " · " + _("Your time zone") + ": " + dates.in_zone(due, own, language)


def problem_text(shown: Mapping[str, Any]) -> str:
    """Return the reason why a set failed or was closed, or an empty text."""
    if not shown["problem"]:
        return ""
    if shown["state"] == State.CLOSED:
        return _("These changes were deleted outside of Galley.")
    return translate(shown["problem"])


def notice_text(notice: Any) -> str:
    """Return the sentence of a notice: who did what."""
    person, title = notice.actor or _("Deleted user"), notice.title
    return {
        NoticeKind.REVIEW_REQUESTED: _("%(person)s asks you to review “%(title)s”", person=person, title=title),
        NoticeKind.CHANGES_REQUESTED: _("%(person)s asks for changes to “%(title)s”", person=person, title=title),
        NoticeKind.APPROVED: _("%(person)s approved “%(title)s”", person=person, title=title),
        NoticeKind.COMMENT: _("%(person)s commented on “%(title)s”", person=person, title=title),
        NoticeKind.MENTIONED: _("%(person)s mentioned you in “%(title)s”", person=person, title=title),
        NoticeKind.PUBLISHED: _("“%(title)s” is on the site", title=title),
        NoticeKind.PUBLISH_FAILED: _("“%(title)s” could not be published", title=title),
    }[notice.kind]


@dataclass(frozen=True)
class PagePart:
    """A part of a changed page on which a comment can be made: the value of a choice, and its label."""

    value: str
    label: str


def block_hash(text: str) -> str:
    """Return the hash that names a paragraph in a comment."""
    return hashlib.sha256(text.strip().encode()).hexdigest()


def parts_of(pointers: Iterable[str], changes: PageChanges | None) -> list[PagePart]:
    """Return the changed fields and paragraphs of a page."""
    parts = [PagePart(f"{POINTER}{pointer}", pointer_label(pointer)) for pointer in pointers]
    texts = [change.after or change.before for change in changes.texts] if changes is not None else []
    blocks = [block for text in texts for block in text.split("\n\n")]
    parts += [PagePart(f"{BLOCK}{block_hash(block)}", quote(block)) for block in blocks]
    return list({part.value: part for part in parts}.values())


def quote(text: str) -> str:
    """Return the beginning of a text in quotation marks."""
    line = " ".join(text.split())
    return f"“{line[:MAX_QUOTE]}…”" if len(line) > MAX_QUOTE else f"“{line}”"


def comment_label(comment: Mapping[str, Any], parts: Sequence[PagePart]) -> str:
    """Return the part of the page that a comment concerns, or an empty text for the page."""
    if comment["pointer"] is not None:
        return pointer_label(comment["pointer"])
    if comment["block"] is None:
        return ""
    label = next((part.label for part in parts if part.value == f"{BLOCK}{comment['block']}"), None)
    return label or _("A paragraph that has changed since")
