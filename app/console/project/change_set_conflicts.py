"""The page of a set whose publication conflicts with the site: a choice for each field, paragraph or file."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask import Response
from markupsafe import Markup

from app.console.blueprint import blueprint
from app.console.files.destinations import run_on
from app.console.files.rendered_text import render_markdown
from app.console.files.simple_page import image_texts, version_images
from app.console.project.change_sets import SET, SET_MEMBER, ShownSet, set_url
from app.console.project.changes import pointer_label, side_text
from app.console.project.compared_fields import MAX_PICTURES, ShownField, list_changes, marked_side
from app.console.shell import frame
from app.console.shell.forms import Form
from app.console.shell.pages import Page, current_form, see_other
from app.console.shell.rendering import page
from app.content.filetypes import file_type
from app.content.front_matter.item_diff import MISSING
from app.content.image_types import is_image
from app.content.merge.files import ConflictKind, MergeConflict
from app.content.page_text import with_line_ends
from app.content.value_changes import ValueComparison
from app.resources.change_set import actions
from app.resources.change_set.guards import ChangeSetScope, set_of
from app.resources.change_set.schemas import VALUE, ResolveBody
from app.resources.project_content.saving.merging import MergePlan
from app.resources.project_content.saving.refusals import RefusedPath
from app.resources.project_content.versions.file_metadata import raw_url

MAX_PARTS = 200
"""The parts of a page with a choice each. Beyond them, there is one choice for each file."""

MAX_SHOWN, MAX_TYPED = 4_000, 16_000
"""The characters of a side that the page shows, and of a text that can be replaced."""

TEXT, LINES = "text", "lines"


@dataclass(frozen=True)
class ConflictSide:
    """A side of a conflict. `html` is None if it is shown as text with marks.

    `image` is the URL of an image, empty for the address of an image that does not exist. `items` are the changes of
    the items of a list.
    """

    text: Markup
    html: Markup | None
    is_missing: bool
    is_cut: bool
    image: str | None
    items: Sequence[ShownField]


@dataclass(frozen=True)
class ConflictPart:
    """A part that the set and the site changed. `own` is the kind of the text that can replace it, or empty."""

    number: int
    path: str
    location: str
    label: str
    mine: ConflictSide
    theirs: ConflictSide
    own: str
    own_text: str
    take: str = ""

    def with_choice(self, form: Form) -> "ConflictPart":
        """Return the part with the choice and the text of a form that failed. Its numbers can differ."""
        for name, path in form.values.items():
            number = name.removeprefix("path-")
            if (path, form.text(f"at-{number}")) == (self.path, self.location):
                text = form.text(f"value-{number}") if f"value-{number}" in form.values else self.own_text
                return replace(self, take=form.text(f"take-{number}"), own_text=text)
        return self


def _plan(scope: ChangeSetScope) -> MergePlan:
    return set_of(scope).plan_update()


@blueprint.get(f"{SET}/conflicts")
@Page(guard=SET_MEMBER, upstream=_plan)
def set_conflicts(*, scope: ChangeSetScope, prepared: MergePlan) -> Response:
    """Show what the set and the site changed differently. Without a conflict, lead to the page of the set."""
    form = current_form()
    if not prepared.conflicts and form.error is None:
        return see_other(set_url(scope))
    shown = ShownSet(scope)
    parts = [part.with_choice(form) for part in _parts(scope, prepared)]
    titles = frame.current().titles({part.path for part in parts})
    values: dict[str, Any] = {"titles": titles, "site_sha": prepared.head}
    return page("changes/conflicts.html", view=shown, one=shown.shown, parts=parts, **values)


def _parts(scope: ChangeSetScope, plan: MergePlan) -> Iterator[ConflictPart]:
    """Yield the conflicts of a plan: parts of files, or whole files if there are too many parts."""
    sides = _Sides(scope, plan)
    if len(plan.conflicts) <= MAX_PARTS:
        for number, refused in enumerate(plan.conflicts):
            yield _part(sides, number, refused)
        return
    for number, path in enumerate(dict.fromkeys(conflict.path for conflict in plan.conflicts)):
        yield _part(sides, number, RefusedPath(path, MergeConflict(ConflictKind.BINARY, "", "", ""), True))


def _part(sides: "_Sides", number: int, refused: RefusedPath) -> ConflictPart:
    path, conflict = refused.path, refused.conflict
    mine, theirs = sides.mine(path, conflict), sides.theirs(path, conflict)
    own = _own_kind(conflict)
    value = conflict.mine if conflict.mine is not MISSING else conflict.theirs
    own_text = "\n".join(map(str, value)) if isinstance(value, list) else str(value)
    label = pointer_label(conflict.pointer)
    return ConflictPart(number, path, _location(conflict), label, mine, theirs, own, own_text if own else "")


class _Sides:
    """The sides of the conflicts of a plan, with one budget for their comparison and for their pictures."""

    def __init__(self, scope: ChangeSetScope, plan: MergePlan) -> None:
        self._scope, self._head, self._comparison = scope, plan.head, ValueComparison()
        self._pictures = MAX_PICTURES

    def mine(self, path: str, conflict: MergeConflict) -> ConflictSide:
        """Return the side of the set."""
        return self._side(path, conflict, conflict.mine, self._scope.change_set.head_sha)

    def theirs(self, path: str, conflict: MergeConflict) -> ConflictSide:
        """Return the side of the site."""
        return self._side(path, conflict, conflict.theirs, self._head)

    def _side(self, path: str, conflict: MergeConflict, side: object, commit: str) -> ConflictSide:
        text, language = side_text(side), file_type(path).language
        is_rendered = conflict.kind is ConflictKind.BLOCK and language in ("markdown", "mdx") and len(text) <= MAX_SHOWN
        base = conflict.base if text == side and not is_rendered else None
        return ConflictSide(
            marked_side(self._comparison, base, text, max_characters=MAX_SHOWN),
            render_markdown(text) if is_rendered else None,
            side is MISSING,
            len(text) > MAX_SHOWN,
            self._image(path, conflict, side, commit),
            list_changes(self._comparison, conflict.base, side, lambda sources: self._images(path, commit, sources)),
        )

    def _image(self, path: str, conflict: MergeConflict, side: object, commit: str) -> str | None:
        """Return the URL of a file or value that is an image, empty if the image of a value does not exist."""
        if conflict.kind is ConflictKind.BINARY:
            return raw_url(self._scope.project.id, path, commit) if is_image(path) and side is not MISSING else None
        sources = list(image_texts(side)) if isinstance(side, str) else []
        if conflict.pointer is None or not sources or not self._pictures:
            return None
        return self._images(path, commit, sources[:1]).get(sources[0])

    def _images(self, path: str, commit: str, sources: Sequence[str]) -> Mapping[str, str]:
        """Return the URLs of images of a version by their addresses, within the budget."""
        sources = sources[: self._pictures]
        self._pictures -= len(sources)
        return version_images(self._scope, path, commit, sources) if sources else {}


def _location(conflict: MergeConflict) -> str:
    """Return the location of a conflict as the fields of a resolution in JSON."""
    values = {"pointer": conflict.pointer, "block": conflict.block}
    location: dict[str, object] = {name: value for name, value in values.items() if value is not None}
    if conflict.lines is not None:
        location["lines"] = conflict.lines._asdict()
    return json.dumps(location)


def _own_kind(conflict: MergeConflict) -> str:
    """Return the kind of text that can replace both sides: a text, a list with one entry in each line, or none."""
    sides = [side for side in (conflict.mine, conflict.theirs) if side not in (MISSING, None)]
    if not sides or (conflict.pointer is None and conflict.block is None and conflict.lines is None):
        return ""
    if all(isinstance(side, str) and len(side) <= MAX_TYPED for side in sides):
        return TEXT
    is_list = all(isinstance(side, list) and all(isinstance(text, str) for text in side) for side in sides)
    return LINES if is_list else ""


@blueprint.post(f"{SET}/conflicts")
@Page(
    guard=SET_MEMBER,
    inputs=("site_sha", "path-*", "at-*", "take-*", "kind-*", "value-*"),
    shown_by="set_conflicts",
)
def resolve_set(*, scope: ChangeSetScope, form: Form) -> Response:
    """Bring the present site into the set, with the choices of the form."""
    numbers = [name.removeprefix("path-") for name in form.values if name.startswith("path-")]
    resolutions = [_resolution(form, number) for number in numbers if form.text(f"take-{number}")]
    body = ResolveBody.loaded({"resolutions": resolutions, "site_sha": form.optional("site_sha")})
    run_on(scope.change_set.id, lambda target: actions.update(target, body.resolutions, site_sha=body.site_sha))
    return see_other(set_url(scope, "?done=resolved"))


def _resolution(form: Form, number: str) -> dict[str, Any]:
    try:
        location = json.loads(form.text(f"at-{number}"))
    except (ValueError, RecursionError):
        location = {}
    take = form.text(f"take-{number}")
    resolution: dict[str, Any] = {"path": form.text(f"path-{number}"), "take": take}
    resolution |= location if isinstance(location, dict) else {}
    if take == VALUE:
        text = with_line_ends("", form.text(f"value-{number}"))
        is_list = form.text(f"kind-{number}") == LINES
        resolution["value"] = [line.strip() for line in text.splitlines() if line.strip()] if is_list else text
    return resolution
