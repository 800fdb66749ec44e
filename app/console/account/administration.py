"""Pages for platform admins: users, background jobs and content indexes of the whole installation."""

from dataclasses import dataclass
from typing import Annotated

from flask import Response, current_app
from marshmallow import fields, validate

from app.access.guards import platform_admin
from app.access.scope import Scope
from app.console.blueprint import ROOT, blueprint
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.http.validation import Cursor, Length, RequestQuery
from app.models.project_content import IndexStatus
from app.resources.project_content.index import index_health
from app.resources.system import job_queue
from app.resources.user import service

PER_PAGE = 100
ADMIN = platform_admin()


@dataclass(frozen=True, kw_only=True)
class UserListQuery(RequestQuery):
    """A part of the e-mail address and a position in the list."""

    q: Annotated[str, fields.String(load_default="", validate=Length(max=254))]
    cursor: Cursor


@dataclass(frozen=True, kw_only=True)
class IndexListQuery(RequestQuery):
    """A status and a position in the list. Without a status, failed and outdated indexes are listed."""

    status: Annotated[str, fields.String(load_default="", validate=validate.OneOf(["", *IndexStatus]))]
    cursor: Cursor


@blueprint.get("/admin")
@Page(guard=ADMIN)
def administration(*, scope: Scope) -> Response:
    """Lead to the first page of the administration."""
    return see_other(f"{ROOT}/admin/users")


@blueprint.get("/admin/users")
@Page(guard=ADMIN, query=UserListQuery)
def admin_users(*, scope: Scope, query: UserListQuery) -> Response:
    """List the users of the installation."""
    listed = service.list_users(query.q, limit=PER_PAGE, cursor=query.cursor)
    return page("admin/users.html", listed=listed, query=query)


@blueprint.get("/admin/jobs")
@Page(guard=ADMIN)
def admin_jobs(*, scope: Scope) -> Response:
    """Show the counts of the job queue and the jobs that failed permanently."""
    engine = current_app.extensions["jobs"]
    return page(
        "admin/jobs.html",
        counts=job_queue.count_jobs(engine),
        failed=job_queue.dead_letters(engine, limit=PER_PAGE),
    )


@blueprint.post("/admin/jobs/retry")
@Page(guard=ADMIN, inputs=("job_id",), shown_by="admin_jobs")
def retry_job(*, scope: Scope, form: Form) -> Response:
    """Run a job that failed permanently again."""
    job_queue.retry_dead_letter(current_app.extensions["jobs"], form.text("job_id"))
    return see_other(f"{ROOT}/admin/jobs?done=retried")


@blueprint.get("/admin/indexes")
@Page(guard=ADMIN, query=IndexListQuery)
def admin_indexes(*, scope: Scope, query: IndexListQuery) -> Response:
    """List the projects whose content index is failed or outdated."""
    statuses = (IndexStatus(query.status),) if query.status else index_health.UNHEALTHY
    listed = index_health.list_indexes(statuses, limit=PER_PAGE, cursor=query.cursor)
    return page("admin/indexes.html", listed=listed, counts=index_health.count_indexes(), query=query)
