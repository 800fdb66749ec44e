"""Notices: news for people about change sets. Their recipients, the list of a user, and the bundles that are mailed."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from app.content.entry_files import folder_of_index, is_page
from app.content.schema.inferred import label_of
from app.extensions import current_settings, db
from app.models.base import Row, utcnow_ms
from app.models.change_set import (
    ChangeSet,
    ChangeSetComment,
    ChangeSetPath,
    ChangeSetReview,
    Notice,
    NoticeKind,
    Verdict,
)
from app.models.project import Project, role_in_project
from app.models.user import User, UserPreference
from app.resources.change_set import queries
from app.resources.project_content.tree.folder_listing import titles_in_projects
from app.resources.user.mail import notify

BUNDLED_FOR = timedelta(minutes=5)
MAX_TEXT, MAX_LISTED, MAX_COUNTED = 1_000, 100, 100
MAX_MAILED, MAX_PAGES = 20, 8
"""Notices in a mail, and pages of a set that it names."""

Group = tuple[NoticeKind, Iterable[str | None]]
_VERDICTS = {Verdict.APPROVE: NoticeKind.APPROVED, Verdict.CHANGES: NoticeKind.CHANGES_REQUESTED}


def ask_review(row: ChangeSet, text: str, *, by: str) -> None:
    """Store notices for the reviewers of a set, else for all members who can approve it."""
    reviewers = {str(person["id"]) for person in queries.reviewers_of([row.id]).get(row.id, ())}
    people = reviewers or {person.id for person in _members(row)}
    _store(row, (NoticeKind.REVIEW_REQUESTED, people - _authors(row)), by=by, text=text)


def answer(
    row: ChangeSet, text: str, *, by: str | None, guest: str | None = None, verdict: Verdict = Verdict.COMMENT
) -> None:
    """Store notices of a verdict for the authors of a set, or of a comment for the people of its conversation.

    `guest` is the name of a guest, who is no user.
    """
    mentioned = NoticeKind.MENTIONED, _mentioned(text, _members(row)) if "@" in text else ()
    if verdict == Verdict.COMMENT:
        _store(row, mentioned, (NoticeKind.COMMENT, _people(row)), by=by, guest=guest, text=text)
    else:
        _store(row, (_VERDICTS[verdict], _authors(row)), mentioned, by=by, guest=guest, text=text)


def published(row: ChangeSet) -> None:
    """Store notices for the people of a set that was published."""
    _store(row, (NoticeKind.PUBLISHED, _people(row)), by=row.publisher_id)


def publication_failed(row: ChangeSet, reason: str, *, user_id: str | None) -> None:
    """Store notices with the reason for the people of a set and the user of its publication."""
    _store(row, (NoticeKind.PUBLISH_FAILED, {user_id, *_people(row)}), by=None, text=reason)


def _store(row: ChangeSet, *groups: Group, by: str | None, guest: str | None = None, text: str = "") -> None:
    """Store the notices of users who may see the project, except the user who acted.

    A user of several groups receives the notice of the first of them.
    """
    kinds: dict[str | None, NoticeKind] = {}
    for kind, user_ids in groups:
        kinds = dict.fromkeys(user_ids, kind) | kinds
    text = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"
    db.session.add_all(
        Notice(user_id=person.id, change_set_id=row.id, kind=kinds[person.id], actor_id=by, actor_name=guest, text=text)
        for person in (_members(row) if kinds.keys() - {by, None} else ())
        if person.id in kinds and person.id != by
    )
    db.session.flush()


def _members(row: ChangeSet) -> Sequence[Row]:
    """Return id, name and e-mail address of the users who may see the project of a set."""
    statement = sa.select(User.id, User.name, User.email).join(Project, Project.id == row.project_id)
    return db.session.execute(statement.where(role_in_project(User.id).is_not(None)).order_by(User.id)).all()


def _authors(row: ChangeSet) -> set[str | None]:
    return {row.creator_id, *queries.author_ids(row.id)}


def _people(row: ChangeSet) -> set[str | None]:
    """Return the authors of a set, and those who reviewed or commented on it."""
    tables = ChangeSetReview, ChangeSetComment
    wrote = sa.union(*(sa.select(table.user_id).where(table.change_set_id == row.id) for table in tables))
    return _authors(row) | set(db.session.scalars(wrote))


def _mentioned(text: str, people: Iterable[Row]) -> set[str]:
    """Return the ids of people whose own address, or `@` with name or first name, is in a text."""
    line, called = " ".join(text.split()).casefold(), defaultdict[str, set[str]](set)
    for person in people:
        for name in {f"@{person.name}", f"@{person.name.split()[0] if person.name.strip() else ''}", person.email}:
            called[name.casefold()].add(person.id)
    return {
        user_id
        for name, user_ids in called.items()
        for user_id in user_ids
        if name in line and len(user_ids) == 1 and re.search(rf"(?<![\w.+-]){re.escape(name)}(?!\.?[\w-])", line)
    }


def listed(user_id: str, *where: sa.ColumnElement[bool], limit: int = MAX_LISTED) -> Sequence[Row]:
    """Return the latest notices of a user about projects that the user may see, with the names that they need."""
    actor = sa.orm.aliased(User)
    statement = (
        sa.select(Notice.id, Notice.kind, Notice.text, Notice.created_at, Notice.read_at, Notice.change_set_id)
        .add_columns(ChangeSet.title, ChangeSet.project_id, Project.name.label("project"))
        .add_columns(sa.func.coalesce(Notice.actor_name, actor.name).label("actor"))
        .outerjoin(actor, actor.id == Notice.actor_id)
    )
    return db.session.execute(_visible(statement, user_id, *where).order_by(Notice.id.desc()).limit(limit)).all()


def count_unread(user_id: str, *, without: str | None = None) -> int:
    """Return the number of unread notices of a user, at most `MAX_COUNTED`. `without` is a set that is not counted."""
    where = [Notice.read_at.is_(None)] + ([] if without is None else [Notice.change_set_id != without])
    unread = _visible(sa.select(Notice.id), user_id, *where).limit(MAX_COUNTED)
    return db.session.scalar(sa.select(sa.func.count()).select_from(unread.subquery())) or 0


def _visible(statement: sa.Select[Any], user_id: str, *where: sa.ColumnElement[bool]) -> sa.Select[Any]:
    own = (
        statement.join(ChangeSet, ChangeSet.id == Notice.change_set_id)
        .join(Project, Project.id == ChangeSet.project_id)
        .join(User, User.id == Notice.user_id)
    )
    return own.where(User.id == user_id, role_in_project(User.id).is_not(None), *where)


def has_unread(user_id: str, change_set_id: str | None = None) -> bool:
    """Return whether a user has unread notices: any, or about a set."""
    return bool(db.session.scalar(sa.select(sa.exists().where(*_unread(user_id, change_set_id)))))


def mark_read(user_id: str, change_set_id: str | None = None) -> None:
    """Mark the notices of a user as read: all, or those about a set. Without unread ones, nothing is written."""
    if has_unread(user_id, change_set_id):
        with db.engine.begin() as connection:  # The objects of the page stay loaded.
            connection.execute(_set(read_at=utcnow_ms()).where(*_unread(user_id, change_set_id)))


def _unread(user_id: str, change_set_id: str | None) -> list[sa.ColumnElement[bool]]:
    own = [Notice.user_id == user_id, Notice.read_at.is_(None)]
    return own if change_set_id is None else [*own, Notice.change_set_id == change_set_id]


def due(*, limit: int) -> Sequence[str]:
    """Return the ids of users with a notice that has waited long enough for its mail."""
    waiting = Notice.mailed_at.is_(None), Notice.created_at <= utcnow_ms() - BUNDLED_FOR
    users = sa.select(Notice.user_id).where(*waiting).group_by(Notice.user_id)
    return db.session.scalars(users.order_by(sa.func.min(Notice.created_at)).limit(limit)).all()


def mail(user: User) -> None:
    """Enqueue one mail with the unread notices of a locked user, unless another worker has done it.

    The notices are marked in the same transaction, so each of them is mailed once.
    """
    now, own = utcnow_ms(), (Notice.user_id == user.id, Notice.mailed_at.is_(None))
    if not db.session.scalar(sa.select(sa.exists().where(*own, Notice.created_at <= now - BUNDLED_FOR))):
        return
    claimed = db.session.scalars(_set(mailed_at=now).where(*own).returning(Notice.id)).all()
    muted = db.session.scalar(sa.select(UserPreference.muted_mails).where(UserPreference.user_id == user.id)) or []
    where = Notice.id.in_(claimed), Notice.read_at.is_(None), Notice.kind.not_in(muted)
    rows = listed(user.id, *where, limit=len(claimed))
    if rows:
        notify(user, "notices", **_mail_values(rows))


def _mail_values(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the values of a mail: its notices by set, the newest first, and the page to which it leads."""
    shown, sets, url = rows[:MAX_MAILED], dict[str, dict[str, Any]](), f"{current_settings().server.base_url}/console"
    pages = _pages({row.change_set_id: row.project_id for row in shown})
    for row in shown:
        values = {"title": row.title, "project": row.project, "pages": pages[row.change_set_id], "notices": []}
        notice = {"kind": row.kind, "person": row.actor, "text": row.text}
        sets.setdefault(row.change_set_id, values)["notices"].append(notice)
    path = f"/projects/{rows[0].project_id}/changes/{rows[0].change_set_id}" if len(sets) == 1 else "/for-you"
    more = {"sets": list(sets.values()), "count": len(rows), "more": len(rows) - len(shown)}
    return {"url": url + path, "settings_url": f"{url}/account/notices", **more}


def _pages(projects: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the titles of the first pages of sets, by set. A page that the site does not have has that of its file.

    `projects` are the ids of the projects of the sets.
    """
    paths = defaultdict[str, list[str]](list)
    changed = sa.select(ChangeSetPath.change_set_id, ChangeSetPath.path)
    changed = changed.where(ChangeSetPath.change_set_id.in_(projects)).order_by(ChangeSetPath.path)
    for set_id, path in db.session.execute(changed):
        if is_page(path) and len(paths[set_id]) < MAX_PAGES:
            paths[set_id].append(path)
    titles = titles_in_projects({(projects[set_id], path) for set_id, listed in paths.items() for path in listed})
    return {
        set_id: [titles.get((project_id, path)) or _name_of(path) for path in paths[set_id]]
        for set_id, project_id in projects.items()
    }


def _name_of(path: str) -> str:
    """Return the name of a page from that of its file or folder."""
    return label_of((folder_of_index(path) or path).rpartition("/")[2].partition(".")[0])


def _set(**values: object) -> sa.Update:
    return sa.update(Notice).values(**values).execution_options(synchronize_session=False)
