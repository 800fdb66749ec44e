"""Images of drafts: uploaded with the unsaved text of a file, and committed by the save of the text.

The functions that change rows run in the transaction of their caller.
"""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count, islice

import sqlalchemy as sa

from app.core import clock
from app.core.errors import Conflict, ErrorMessage, FieldError, NotFound, PayloadTooLarge, UnprocessableEntity
from app.core.limits import MIB, DraftLimits
from app.extensions import db
from app.models.project import Project
from app.models.project_content import DraftImage
from app.models.user import User

FIELD = "image"
"""The field of the errors of an upload."""

MAX_NAMES = 200
MAX_STEM_BYTES = 180
"""A name has at most 255 bytes, with its number and ending."""


def folded(path: str) -> str:
    """Return the form in which two paths are equal on a file system that ignores case."""
    return unicodedata.normalize("NFC", path).casefold()


def free_names(name: str, taken: Collection[str]) -> list[str]:
    """Return names for an image, the best first: the name, then with `-2`, `-3`. `taken` contains folded names."""
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, ""
    stem = stem.encode()[:MAX_STEM_BYTES].decode(errors="ignore")
    numbered = (f"{stem}{f'-{number}' if number > 1 else ''}{dot}{ending}" for number in count(1))
    return list(islice((one for one in numbered if folded(one) not in taken), MAX_NAMES))


def listed(project: Project, *, by: User, branch: str | None = None, file: str) -> Sequence[DraftImage]:
    """Return the images of a draft without their bytes, by time. None is the working branch."""
    statement = sa.select(DraftImage).where(*_of(project, by, file, branch))
    return db.session.scalars(statement.order_by(DraftImage.created_at, DraftImage.id)).all()


def content(image_id: str) -> bytes | None:
    """Return the bytes of an image, or None if it no longer exists."""
    return db.session.scalar(sa.select(DraftImage.content).where(DraftImage.id == image_id))


def find(project: Project, *, by: User, branch: str | None = None, file: str, url: str) -> DraftImage:
    """Return the image of a draft with an address, without its bytes. Raises NotFound."""
    image = db.session.scalar(sa.select(DraftImage).where(*_of(project, by, file, branch), DraftImage.url == url))
    if image is None:
        raise NotFound("The draft has no such image")
    return image


def add(
    project: Project,
    *,
    by: User,
    branch: str | None = None,
    file: str,
    names: Sequence[str],
    folder: str,
    address: str,
    unnamed: Sequence[str],
    data: bytes,
) -> DraftImage:
    """Store an image with the first name that no draft of the branch has. The address in the text ends with the name.

    `unnamed` are the images of the draft that its text does not name. They are deleted if a limit would be reached.

    Raises:
        PayloadTooLarge, UnprocessableEntity: a limit of the images of a draft or of a user is reached.
        Conflict: drafts use all names.
        NotFound: the user no longer exists.
    """
    if db.session.scalar(sa.select(User.id).where(User.id == by.id).with_for_update(key_share=True)) is None:
        raise NotFound("The account no longer exists")
    try:
        _check_limits(project, by, file, branch, len(data))
    except (PayloadTooLarge, UnprocessableEntity):
        before = clock.now() - timedelta(seconds=DraftLimits.removed_ttl_s)
        is_removed = sa.and_(DraftImage.id.in_(unnamed), DraftImage.created_at < before)
        db.session.execute(sa.delete(DraftImage).where(*_of(project, by, file, branch), is_removed))
        _check_limits(project, by, file, branch, len(data))
    branch = branch or project.branch
    on_branch = (DraftImage.project_id == project.id, DraftImage.branch == branch)
    taken = {folded(path) for path in db.session.scalars(sa.select(DraftImage.path).where(*on_branch))}
    paths = {name: f"{folder}/{name}" if folder else name for name in names}
    name = next((name for name, path in paths.items() if folded(path) not in taken), None)
    if name is None:
        raise Conflict(ErrorMessage("Too many images have this name. Rename the image"))
    image = DraftImage(
        project_id=project.id,
        user_id=by.id,
        branch=branch,
        file=file,
        path=paths[name],
        url=f"{address}{name}",
        size=len(data),
        content=data,
    )
    db.session.add(image)
    db.session.flush()
    return image


@dataclass(frozen=True)
class DraftFile:
    """The file of a draft and its branch. None is the working branch."""

    branch: str | None
    file: str


def move(project: Project, draft: DraftFile, to: DraftFile, *, by: User, paths: Mapping[str, str]) -> None:
    """Attach the images of a draft to another one. `paths` contains their new paths by id.

    Raises:
        Conflict: a draft of the other branch has an image with one of the paths.
    """
    db.session.scalar(sa.select(User.id).where(User.id == by.id).with_for_update(key_share=True))
    branch = to.branch or project.branch
    if branch != (draft.branch or project.branch):
        on_branch = sa.select(DraftImage.path).where(DraftImage.project_id == project.id, DraftImage.branch == branch)
        taken = {folded(path) for path in db.session.scalars(on_branch)}
        name = next((path.rpartition("/")[2] for path in paths.values() if folded(path) in taken), None)
        if name is not None:
            message = ErrorMessage("Another draft has an image “%(name)s”. Rename the image", name=name)
            raise Conflict(message, code="NAME_TAKEN")
    for image_id, path in paths.items():
        statement = sa.update(DraftImage).where(*_of(project, by, draft.file, draft.branch), DraftImage.id == image_id)
        db.session.execute(statement.values(branch=branch, file=to.file, path=path))


def delete_of_draft(project: Project, *, by: User, branch: str, file: str) -> None:
    """Delete all images of a draft."""
    db.session.execute(sa.delete(DraftImage).where(*_of(project, by, file, branch)))


def delete_saved(project: Project, *, by: User, branch: str | None = None, file: str, ids: Sequence[str]) -> None:
    """Delete the images that a save has committed, and older ones, which the saved text does not name.

    An image that was uploaded during the save stays: the text of the next save can name it.
    """
    before = clock.now() - timedelta(seconds=DraftLimits.unnamed_ttl_s)
    is_done = sa.or_(DraftImage.id.in_(ids), DraftImage.created_at < before)
    db.session.execute(sa.delete(DraftImage).where(*_of(project, by, file, branch), is_done))


def _of(project: Project, by: User, file: str, branch: str | None = None) -> tuple[sa.ColumnElement[bool], ...]:
    image = DraftImage
    return (
        image.project_id == project.id,
        image.user_id == by.id,
        image.branch == (branch or project.branch),
        image.file == file,
    )


def _check_limits(project: Project, by: User, file: str, branch: str | None, size: int) -> None:
    """Compare the images of the draft and of the user with the limits. The caller has locked the user."""
    limits, total = DraftLimits(), sa.func.coalesce(sa.func.sum(DraftImage.size), 0)
    of_draft = sa.select(sa.func.count(), total).where(*_of(project, by, file, branch))
    number, in_draft = db.session.execute(of_draft).one()
    of_user = db.session.scalar(sa.select(total).where(DraftImage.user_id == by.id)) or 0
    mebibytes, of_all = limits.image_bytes // MIB, limits.user_image_bytes // MIB
    message = None
    if in_draft + size > limits.image_bytes:
        message = ErrorMessage(
            "The images of a page can have at most %(limit)s MiB together. Save the page first", limit=mebibytes
        )
    elif of_user + size > limits.user_image_bytes:
        message = ErrorMessage(
            "The images of your drafts can have at most %(limit)s MiB together. Save or discard a draft first",
            limit=of_all,
        )
    if message is not None:
        raise PayloadTooLarge(message, fields=[FieldError(FIELD, message)])
    if number >= limits.images:
        message = ErrorMessage("A draft can have at most %(limit)s images. Save the page first", limit=limits.images)
        raise UnprocessableEntity(message, fields=[FieldError(FIELD, message)])
