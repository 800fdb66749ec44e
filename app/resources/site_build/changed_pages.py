"""Pages that differ between two builds: of a change set and of the commit on which it is based."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from app.content.page_addresses import address_of
from app.content.site_paths import PAGES, path_in_site
from app.extensions import db
from app.models.change_set import ChangeSet
from app.models.project import Project
from app.models.site_build import UNFINISHED, BuildState, SiteBuild, SiteBuildFile
from app.resources.change_set.queries import changed_paths

HTML = "text/html"
MIN_COMMON_PAGES = 3
"""A change of what surrounds the content is named once if at least so many pages, and all of them, have it."""
MAX_PAGES = 5_000


class PageChange(StrEnum):
    """The difference of a page."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True)
class BuiltPage:
    """A page that differs. `cause` contains the changed files whose page it is likely to be."""

    url: str
    title: str
    kind: PageChange
    cause: tuple[str, ...] = ()


@dataclass(frozen=True)
class PageComparison:
    """The comparison of two builds.

    `state` is that of the builds: ready, failed, or the state of the one that is not ready. None: nothing was built.
    With `all_pages`, header, menu or footer of every page differ, and the list contains the pages that differ in their
    content as well.
    """

    state: BuildState | None
    build: SiteBuild | None = None
    base: SiteBuild | None = None
    all_pages: bool = False
    pages: Sequence[BuiltPage] = ()


def compare(change_set: ChangeSet, project: Project, *, head_sha: str | None = None) -> PageComparison:
    """Return the pages that a change set changes, or a commit of it, in the order of their URLs."""
    build, base = newest_builds(change_set, head_sha)
    if build is None or base is None:
        return PageComparison(None, build, base)
    if build.state is not BuildState.READY or base.state is not BuildState.READY:
        return PageComparison(_state_of(build, base), build, base)
    all_pages = _is_frame_changed(build.id, base.id)
    causes = dict(_causes(change_set.id, project))
    pages = [
        BuiltPage(url, title, kind, tuple(causes.get(url.removesuffix(".html").rstrip("/"), ())))
        for url, title, kind in _differences(build.id, base.id, all_pages=all_pages)
    ]
    return PageComparison(
        BuildState.READY, build, base, all_pages, sorted(pages, key=lambda page: page.url)[:MAX_PAGES]
    )


def newest_builds(change_set: ChangeSet, head_sha: str | None = None) -> tuple[SiteBuild | None, SiteBuild | None]:
    """Return the newest build of a change set, or of a commit of it, and that of its base, in any state."""
    head, base = head_sha or change_set.head_sha, change_set.base_sha
    return _newest(change_set.project_id, head), _newest(change_set.project_id, base)


def _newest(project_id: str, commit_sha: str) -> SiteBuild | None:
    own = SiteBuild.project_id == project_id, SiteBuild.commit_sha == commit_sha
    return db.session.scalar(sa.select(SiteBuild).where(*own).order_by(SiteBuild.id.desc()).limit(1))


def _state_of(*builds: SiteBuild) -> BuildState:
    states = [build.state for build in builds]
    ended = next((state for state in states if state in (BuildState.FAILED, BuildState.EXPIRED)), None)
    return ended or next(state for state in states if state in UNFINISHED)


_HEAD, _BASE = sa.orm.aliased(SiteBuildFile), sa.orm.aliased(SiteBuildFile)
_IS_CHANGED = sa.or_(_HEAD.content_digest.is_distinct_from(_BASE.content_digest), _HEAD.content_digest.is_(None))
_IS_FRAME_CHANGED = _HEAD.frame_digest.is_distinct_from(_BASE.frame_digest)


def _common(build_id: str, base_id: str) -> list[sa.ColumnElement[bool]]:
    return [_HEAD.build_id == build_id, _BASE.build_id == base_id, _HEAD.path == _BASE.path, _HEAD.mimetype == HTML]


def _is_frame_changed(build_id: str, base_id: str) -> bool:
    """Return whether what surrounds the content differs on all pages that both builds have."""
    count = sa.func.count()
    changed = sa.func.count(sa.case((_IS_FRAME_CHANGED, 1)))
    total, different = db.session.execute(sa.select(count, changed).where(*_common(build_id, base_id))).one()
    return bool(total >= MIN_COMMON_PAGES and different == total)


def _differences(build_id: str, base_id: str, *, all_pages: bool) -> Iterator[tuple[str, str, PageChange]]:
    is_different = _IS_CHANGED if all_pages else sa.or_(_IS_CHANGED, _IS_FRAME_CHANGED)
    where = [*_common(build_id, base_id), _HEAD.sha256 != _BASE.sha256, is_different]
    for path, title in db.session.execute(sa.select(_HEAD.path, _HEAD.title).where(*where).limit(MAX_PAGES)):
        yield address_of(path), title or "", PageChange.CHANGED
    for kind, own, other in ((PageChange.ADDED, build_id, base_id), (PageChange.REMOVED, base_id, build_id)):
        present = sa.exists().where(_BASE.build_id == other, _BASE.path == _HEAD.path)
        alone = sa.select(_HEAD.path, _HEAD.title).where(_HEAD.build_id == own, _HEAD.mimetype == HTML, ~present)
        for path, title in db.session.execute(alone.limit(MAX_PAGES)):
            yield address_of(path), title or "", kind


def _causes(change_set_id: str, project: Project) -> Iterator[tuple[str, list[str]]]:
    """Yield the likely address of each changed page without its ending, and the files."""
    causes: dict[str, list[str]] = {}
    for path in filter(PAGES.search, changed_paths(change_set_id)):
        address = path_in_site(path, {}, project.paths.get("content"), generator=project.generator)
        causes.setdefault(address.removesuffix(".html").rstrip("/"), []).append(path)
    yield from causes.items()
