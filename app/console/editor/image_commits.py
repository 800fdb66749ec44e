"""Images of a draft in a save of its text: the commit of those that the text names, under free names."""

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from app.access.scope import ProjectScope
from app.console.editor.draft_images import images_of, move_draft_images, named_images, taken_names
from app.console.files.page_source import branch_source, present_head
from app.console.shell.translation import gettext as _
from app.core.errors import Conflict
from app.core.paths import folded, path_error
from app.drivers.git.object_ids import blob_sha
from app.http.body_admission import hold
from app.models.project_content import DraftImage
from app.resources.project_content.images import MediaFolder
from app.resources.project_content.tree.folder_listing import names_in_folder
from app.resources.project_draft import images


@dataclass(frozen=True)
class ImagePlan:
    """The images that a save of a text commits.

    `data` is the text with the names that the images receive, `files` are the edits, and `ids` the images that the
    branch contains after the save.
    """

    data: bytes
    files: Sequence[dict[str, Any]] = ()
    ids: Sequence[str] = ()
    is_renamed: bool = False


def plan_images(
    scope: ProjectScope, path: str, data: bytes, *, to: ProjectScope | None = None, new_path: str | None = None
) -> ImagePlan:
    """Return how a save of a text commits the images of its draft that the text or its front matter names.

    An image whose name the branch has received since the upload gets the next free name, also in the text. `to` is the
    scope in which the text is saved, and `new_path` its path, if they are not those of the draft.

    Raises:
        Conflict: an image cannot be renamed in the text.
    """
    named = named_images(images_of(scope, path), path, data)
    if not named:
        return ImagePlan(data)
    hold(sum(image.size for image in named))
    to = to or scope
    paths = {image.id: moved_path(image, path, new_path or path) for image in named}
    source = branch_source(to)
    present = source.repository.entries(present_head(to), list(paths.values()))
    text, files, ids = data, list[dict[str, Any]](), list[str]()
    for image in named:
        content, target = images.content(image.id), paths[image.id]
        if content is None:
            continue
        ids.append(image.id)
        if target in present and present[target].sha == blob_sha(content):
            continue  # An interrupted save has committed it, or the branch has received the same image.
        if target in present or _has_other_case(to, target):
            target, text = _renamed(to, image, target, path, text, paths.values())
        files.append({"path": target, "action": "create", "content": content})
    return ImagePlan(text, files, ids, is_renamed=text != data)


def _has_other_case(scope: ProjectScope, target: str) -> bool:
    """Return whether the folder of a path has a file whose name differs in case only."""
    folder, _slash, name = target.rpartition("/")
    others = (other for other in names_in_folder(scope.index, folder) if other != name)
    return folded(name) in map(folded, others)


def _renamed(
    scope: ProjectScope, image: DraftImage, target: str, path: str, data: bytes, others: Iterable[str]
) -> tuple[str, bytes]:
    """Return another path for an image whose name is taken, and the text with the address of this path."""
    folder, _slash, name = target.rpartition("/")
    planned = {folded(other.rpartition("/")[2]) for other in others}
    new_name = images.free_names(name, planned | taken_names(scope, MediaFolder(folder, ""), name))[0]
    new_url = f"{image.url.removesuffix(image.name)}{new_name}"
    text = data.decode("utf-8", "surrogateescape")
    for url in {image.url, quote(image.url)}:
        pattern = rf"(?<![\w./~@%-])((?:\./)?){re.escape(url)}(?![\w-]|\.\w)"
        text = re.sub(pattern, lambda match: match[1] + new_url, text)
    renamed = text.encode("utf-8", "surrogateescape")
    if named_images([image], path, renamed):
        message = _("“%(name)s” exists now. Remove the image from the page and upload it again.", name=image.name)
        raise Conflict(message, code="NAME_TAKEN")
    return f"{folder}/{new_name}" if folder else new_name, renamed


def moved_path(image: DraftImage, path: str, new_path: str) -> str:
    """Return the path of an image if its page has another path.

    An address that is relative to the page stays valid, unless it leads out of the repository.
    """
    own = posixpath.normpath(posixpath.join(path.rpartition("/")[0], image.url))
    if own != image.path:
        return image.path
    moved = posixpath.normpath(posixpath.join(new_path.rpartition("/")[0], image.url))
    return moved if path_error(moved) is None else image.path


def follow_rename(scope: ProjectScope, path: str, new_path: str) -> None:
    """Attach the images of a draft to the renamed page to which the draft moves."""
    paths = {image.id: moved_path(image, path, new_path) for image in images_of(scope, path)}
    if paths:
        move_draft_images(scope, path, scope, new_path, paths)
