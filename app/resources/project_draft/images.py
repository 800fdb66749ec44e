"""Images of drafts: uploaded with the unsaved text of a file, and committed by the save of the text.

The functions that change rows run in the transaction of their caller.
"""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from itertools import count, islice
from urllib.parse import unquote

import sqlalchemy as sa

from app.content.data_text import read_data
from app.content.page_text import read_page
from app.content.site_roots import SiteRoots
from app.core import clock
from app.core.errors import Conflict, ErrorMessage, FieldError, NotFound, PayloadTooLarge, UnprocessableEntity
from app.core.limits import MIB, DraftLimits
from app.core.paths import folded, path_error
from app.drivers.git.port import TreeEntry
from app.extensions import db
from app.models.project_content import DraftImage
from app.models.user import User
from app.resources.project_content.images import candidates
from app.resources.project_draft.queries import DraftKey

FIELD = "image"
"""The field of the errors of an upload."""

MAX_NAMES = 200
MAX_STEM_BYTES = 180
"""A name has at most 255 bytes, with its number and ending."""

_SEPARATORS = re.compile(r"[\s\"'`()<>\[\]{}|,;=]+")


def free_names(name: str, taken: Collection[str]) -> list[str]:
    """Return names for an image, the best first: the name, then with `-2`, `-3`. `taken` contains folded names."""
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, ""
    stem = stem.encode()[:MAX_STEM_BYTES].decode(errors="ignore")
    numbered = (f"{stem}{f'-{number}' if number > 1 else ''}{dot}{ending}" for number in count(1))
    return list(islice((name for name in numbered if folded(name) not in taken), MAX_NAMES))


def listed(key: DraftKey) -> Sequence[DraftImage]:
    """Return the images of a draft without their bytes, by time."""
    statement = sa.select(DraftImage).where(*key.of(DraftImage))
    return db.session.scalars(statement.order_by(DraftImage.created_at, DraftImage.id)).all()


def content(image_id: str) -> bytes | None:
    """Return the bytes of an image, or None if it no longer exists or if only the repository has them."""
    return db.session.scalar(sa.select(DraftImage.content).where(DraftImage.id == image_id))


def find(key: DraftKey, url: str) -> DraftImage:
    """Return the image of a draft with an address, without its bytes. Raises NotFound."""
    image = db.session.scalar(sa.select(DraftImage).where(*key.of(DraftImage), DraftImage.url == url))
    if image is None:
        raise NotFound("The draft has no such image")
    return image


def add(
    key: DraftKey,
    data: bytes,
    *,
    names: Sequence[str],
    folder: str,
    address: str,
    unnamed: Sequence[str],
    blob_sha: str | None = None,
) -> DraftImage:
    """Store an image with the first name that no draft of the branch has. The address in the text ends with the name.

    `blob_sha` is that of a copied file. `unnamed` are the images of the draft that its text does not name. They are
    deleted if a limit would be reached.

    Raises:
        PayloadTooLarge, UnprocessableEntity: a limit of the images of a draft or of a user is reached.
        Conflict: drafts use all names.
        NotFound: the user no longer exists.
    """
    if _lock_user(key) is None:
        raise NotFound("The account no longer exists")
    try:
        _check_limits(key, len(data))
    except (PayloadTooLarge, UnprocessableEntity):
        before = clock.now() - timedelta(seconds=DraftLimits.removed_ttl_s)
        is_removed = sa.and_(DraftImage.id.in_(unnamed), DraftImage.created_at < before)
        db.session.execute(sa.delete(DraftImage).where(*key.of(DraftImage), is_removed))
        _check_limits(key, len(data))
    taken, start = _taken_paths(key), f"{folder}/" if folder else ""
    name = next((name for name in names if folded(start + name) not in taken), None)
    if name is None:
        raise Conflict(ErrorMessage("Too many images have this name. Rename the image"))
    address_of = {"path": start + name, "url": f"{address}{name}", "size": len(data)}
    image = DraftImage(**asdict(key), **address_of, content=data, blob_sha=blob_sha)
    db.session.add(image)
    db.session.flush()
    return image


def add_blobs(key: DraftKey, folder: str, blobs: Mapping[str, TreeEntry]) -> None:
    """Store the files of a copy that the repository has, by their paths in the folder of the page.

    Raises:
        NotFound: the user no longer exists.
    """
    if _lock_user(key) is None:
        raise NotFound("The account no longer exists")
    paths = {url: f"{folder}/{url}" for url in blobs}
    earlier = DraftImage.path.in_(paths.values())  # The text of an earlier draft of this file was deleted.
    db.session.execute(sa.delete(DraftImage).where(*key.of(DraftImage), earlier))
    db.session.add_all(
        DraftImage(**asdict(key), path=paths[url], url=url, size=blob.size or 0, blob_sha=blob.sha)
        for url, blob in blobs.items()
    )
    db.session.flush()


def move(key: DraftKey, to: DraftKey, paths: Mapping[str, str]) -> None:
    """Attach the images of a draft to another one. `paths` contains their new paths by id.

    Raises:
        Conflict: a draft of the other branch has an image with one of the paths.
    """
    _lock_user(key)
    if key.branch != to.branch:
        taken = _taken_paths(to)
        name = next((path.rpartition("/")[2] for path in paths.values() if folded(path) in taken), None)
        if name is not None:
            message = ErrorMessage("Another draft has an image “%(name)s”. Rename the image", name=name)
            raise Conflict(message, code="NAME_TAKEN")
    for image_id, path in paths.items():
        statement = sa.update(DraftImage).where(*key.of(DraftImage), DraftImage.id == image_id)
        db.session.execute(statement.values(branch=to.branch, file=to.file, path=path))


def delete_of_draft(key: DraftKey) -> None:
    """Delete all images of a draft."""
    db.session.execute(sa.delete(DraftImage).where(*key.of(DraftImage)))


def delete_saved(key: DraftKey, ids: Sequence[str]) -> None:
    """Delete the images that a save has committed, and older ones, which the saved text does not name.

    An image that was uploaded during the save stays: the text of the next save can name it.
    """
    before = clock.now() - timedelta(seconds=DraftLimits.unnamed_ttl_s)
    is_done = sa.or_(DraftImage.id.in_(ids), DraftImage.created_at < before)
    db.session.execute(sa.delete(DraftImage).where(*key.of(DraftImage), is_done))


def _lock_user(key: DraftKey) -> str | None:
    """Lock the user of a draft, so that limits and names hold. None: the user no longer exists."""
    return db.session.scalar(sa.select(User.id).where(User.id == key.user_id).with_for_update(key_share=True))


def _taken_paths(key: DraftKey) -> set[str]:
    """Return the folded paths of the images of all drafts on the branch."""
    on_branch = (DraftImage.project_id == key.project_id, DraftImage.branch == key.branch)
    return {folded(path) for path in db.session.scalars(sa.select(DraftImage.path).where(*on_branch))}


def _check_limits(key: DraftKey, size: int) -> None:
    """Compare the images of the draft and of the user with the limits. The caller has locked the user."""
    limits, total = DraftLimits(), sa.func.coalesce(sa.func.sum(DraftImage.size), 0)
    is_stored = DraftImage.content.is_not(None)
    of_draft = sa.select(sa.func.count(), total).where(*key.of(DraftImage), is_stored)
    number, in_draft = db.session.execute(of_draft).one()
    of_user = db.session.scalar(sa.select(total).where(DraftImage.user_id == key.user_id, is_stored)) or 0
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


def named_in(data: bytes, path: str, own: Sequence[DraftImage], site: SiteRoots) -> list[DraftImage]:
    """Return the images that a text or a value of its front matter names, by their addresses or by their paths."""
    if not own:
        return []
    page = read_page(path, data)
    values = set(_texts(read_data(path, data) or (page.values if page is not None else None)))
    text = data.decode("utf-8", "replace")
    names = {image.name for image in own}
    tokens = {token for token in _SEPARATORS.split(text) if "." in token}
    addresses = {unquote(token.partition("?")[0].partition("#")[0]) for token in tokens}
    addresses = {address for address in (addresses | values) if address.rpartition("/")[2] in names}
    return [image for image in own if _is_named(image, addresses, path, site) or _has(text, image)]


def _is_named(image: DraftImage, addresses: Iterable[str], path: str, site: SiteRoots) -> bool:
    return any(address == image.url or image.path in candidates(site, address, path) for address in addresses)


def _has(text: str, image: DraftImage) -> bool:
    """Return whether a text contains an address with a separator, for example a space."""
    return _SEPARATORS.search(image.url) is not None and image.url in text


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in a value of the front matter."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)


def moved_path(image: DraftImage, path: str, new_path: str) -> str:
    """Return the path of an image if its page has another path.

    An address that is relative to the page stays valid, unless it leads out of the repository.
    """
    own = posixpath.normpath(posixpath.join(path.rpartition("/")[0], image.url))
    if own != image.path:
        return image.path
    moved = posixpath.normpath(posixpath.join(new_path.rpartition("/")[0], image.url))
    return moved if path_error(moved) is None else image.path
