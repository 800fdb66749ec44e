"""Responses of builds: with the address of the built site, and as a stream of states."""

import threading
import time

from flask import Flask, Response, current_app, request

from app.access.guards import membership_check
from app.concurrency.background import Blocks, prefetch
from app.database import transactions
from app.extensions import current_settings, db
from app.http import envelope
from app.http.loading import instance
from app.http.results import PageResult, ViewResult, page_of
from app.http.streaming.response import EventStream, StreamSettings, failure, sse_event, sse_response
from app.http.validation import ListQuery
from app.models.site_build import UNFINISHED, BuildState, SiteBuild
from app.resources.sandbox.lifecycle import PreviewUrls
from app.resources.site_build import queries
from app.resources.site_build.actions import Requested
from app.resources.site_build.changed_pages import PageComparison
from app.resources.site_build.queries import Shown
from app.resources.site_build.schemas import BuildSchema

STREAM_S, POLL_S = 2400, 1.0


def shown(build: SiteBuild, user_id: str) -> Shown:
    """Return the response of a build. The address of a ready one admits this user."""
    url = PreviewUrls.of(current_settings()).link(build.label, user_id) if build.state is BuildState.READY else None
    return queries.shown(build) | {"url": url}


def requested(result: Requested, user_id: str) -> ViewResult:
    """Return the response of a request: 201 for a new build."""
    message = "Build requested" if result.is_new else "The commit is built already, or being built"
    return ViewResult(shown(result.build, user_id), 201 if result.is_new else 200, message=message)


def changed_pages(compared: PageComparison, query: ListQuery) -> PageResult:
    """Return a page of the changed pages, with the state of the comparison as `meta`."""
    page = page_of(compared.pages, query, kind="changed_pages", key=lambda changed: changed.url)
    build, base = compared.build, compared.base
    state = {"state": compared.state, "all_pages": compared.all_pages}
    ids = {"build_id": build.id if build else None, "base_build_id": base.id if base else None}
    return PageResult(page.items, state | ids | page.meta)


def render(build: SiteBuild, user_id: str) -> Response:
    """Return a build as JSON, or its states as a stream of events if the caller accepts events."""
    best = request.accept_mimetypes.best_match(["application/json", "text/event-stream"], default="application/json")
    if best == "text/event-stream":
        return _stream(build, user_id)
    return envelope.success(request, instance(BuildSchema).dump(shown(build, user_id)), "Build")


def _stream(build: SiteBuild, user_id: str) -> Response:
    """Return the stream. It ends with the build, or when the caller loses the membership."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    disconnected = threading.Event()
    allowed = membership_check(app.extensions["reading_engine"], build.project_id, user_id)
    blocks = prefetch(_states(app, build.id, user_id, disconnected))
    events = EventStream(blocks, cancel=disconnected.set, failed=failure, allowed=allowed)
    return sse_response(events, timing=StreamSettings(total_s=STREAM_S))


def _states(app: Flask, build_id: str, user_id: str, disconnected: threading.Event) -> Blocks:
    """Yield the build after each change, until it ends. Runs in the background."""
    last, is_unfinished = None, True
    while is_unfinished and not disconnected.is_set():
        with transactions.reading_context(app):
            build = db.session.get(SiteBuild, build_id)
            if build is None:
                return
            present, is_unfinished = instance(BuildSchema).dump(shown(build, user_id)), build.state in UNFINISHED
        if present != last:
            yield sse_event(present)
            last = present
        if is_unfinished:
            time.sleep(POLL_S)
