"""WSGI middleware that serves local repositories to Git clients at `/git/<owner>/<name>.git`.

It runs before the application, because a pack is larger than the bodies of the API and is streamed in both directions.
"""

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from secrets import token_hex
from types import TracebackType
from urllib.parse import parse_qs
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from flask import Flask
from werkzeug.wsgi import ClosingIterator

from app.concurrency.bounded import ConcurrencyLimiter
from app.core.limits import MIB
from app.database import transactions
from app.database.errors import DatabaseError, is_transient
from app.drivers.errors import DriverError
from app.drivers.git.errors import RepositoryUnavailable
from app.drivers.git.hosts import BackendCall, GitService, LocalHost
from app.extensions import drivers
from app.git_http.access import GitCaller, authenticate, authorize
from app.git_http.exchange import GitExchange
from app.git_http.push import Push, install_hook
from app.git_http.request_body import GitRequestBody
from app.git_http.responses import GitRefusal, busy, missing, no_lfs
from app.observability.metrics import REQUESTS, method_of
from config import Settings

log = structlog.get_logger(__name__)

PREFIX, SUFFIX = "/git/", ".git"
ROUTE = "/git/<repository>"
"""The name of the route in the log and in the metrics."""

NAME = re.compile(r"[A-Za-z0-9._/-]{3,255}")
"""The characters of repository names at all hosts. The host of local repositories has stricter rules."""

PROTOCOL = re.compile(r"version=[0-9]")
USER_SHARE, ORGANIZATION_SHARE = 2, 4
"""Requests to Git of a user and of an organization at the same time in one web worker."""

SLOT_WAIT_S = 5.0
ADVERTISEMENT = "/info/refs"
LFS = "/info/lfs"
ErrorInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]


def init_app(app: Flask) -> None:
    """Wrap the WSGI application in the Git server."""
    settings: Settings = app.config["SETTINGS"]
    app.wsgi_app = GitServer(app, settings)  # type: ignore[method-assign]


class GitServer:
    """The WSGI middleware that serves Git over HTTP."""

    def __init__(self, app: Flask, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._next: WSGIApplication = app.wsgi_app
        processes = settings.git.http_processes
        self._users = ConcurrencyLimiter(per_key=USER_SHARE, total=sys.maxsize)
        self._organizations = ConcurrencyLimiter(per_key=ORGANIZATION_SHARE, total=processes)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve a Git request. Pass every other request to the application."""
        path: str = environ.get("PATH_INFO", "")
        if not path.startswith(PREFIX):
            return self._next(environ, start_response)
        request_id, started_s = token_hex(16), time.perf_counter()

        def start(
            status: str, headers: list[tuple[str, str]], error: ErrorInfo | None = None, /
        ) -> Callable[[bytes], object]:
            code = int(status.partition(" ")[0])
            took_ms = round((time.perf_counter() - started_s) * 1000, 1)
            method = method_of(environ["REQUEST_METHOD"])
            REQUESTS.labels(method, ROUTE, code).inc()
            # Git has not started when the service is busy.
            effect = {"may_have_effect": False} if code == HTTPStatus.SERVICE_UNAVAILABLE else {}
            log.info("request", method=method, route=ROUTE, status=code, ms=took_ms, request_id=request_id, **effect)
            return start_response(status, [*headers, ("X-Request-Id", request_id)], error)

        try:
            return self._serve(path, environ, start)
        except GitRefusal as refusal:
            return refusal.response()(environ, start)
        except RepositoryUnavailable:
            return missing().response()(environ, start)
        except DriverError:
            log.exception("git.request_failed", request_id=request_id)
            return busy().response()(environ, start)
        except DatabaseError as error:
            if not is_transient(error):
                raise
            return busy(retry_after_s=2).response()(environ, start)

    def _serve(self, path: str, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        repository, service, is_advertisement = parse_target(path, environ)
        with transactions.reading_context(self._app):
            caller = authenticate(environ, is_write=service is GitService.RECEIVE and not is_advertisement)
            projects = authorize(caller, repository, service)
            host: LocalHost | None = drivers.git.local
        if host is None:
            raise missing()
        max_push_bytes = self._settings.git.max_push_mb * MIB
        body = None if is_advertisement else GitRequestBody(environ, service, max_push_bytes=max_push_bytes)
        if body is not None:
            body.check()
        branches = [project.branch for project in projects]
        organization = next(project.organization_id for project in projects if project.is_open)
        with self.slot(caller.user_id, organization) as slot:
            response = self._exchange(environ, start_response, host, repository, service, body, caller, branches)
            return ClosingIterator(response, slot.pop_all().close)

    @contextmanager
    def slot(self, *keys: str) -> Iterator[ExitStack]:
        """Occupy a slot in the shares of a user and an organization until the stack is closed.

        The slot of all is the last one, so a request that waits for its share does not occupy it.

        Raises:
            GitRefusal: the slots stay occupied.
        """
        until_s = time.monotonic() + SLOT_WAIT_S
        with ExitStack() as slot:
            for limiter, key in zip((self._users, self._organizations), keys, strict=True):
                if not slot.enter_context(limiter.slot(key, wait_s=until_s - time.monotonic())):
                    raise busy("The server is serving too many Git clients. Try again shortly")
            yield slot

    def _exchange(
        self,
        environ: WSGIEnvironment,
        start_response: StartResponse,
        host: LocalHost,
        repository: str,
        service: GitService,
        body: GitRequestBody | None,
        caller: GitCaller,
        working_branches: Sequence[str],
    ) -> GitExchange:
        protocol = environ.get("HTTP_GIT_PROTOCOL", "")
        push, hooks = None, None
        if service is GitService.RECEIVE and body is not None:
            hooks = install_hook(self._settings.git.local_root)
            push = Push(self._app, host, repository, caller, working_branches)
        call = BackendCall(
            service,
            is_advertisement=body is None,
            protocol=protocol if PROTOCOL.fullmatch(protocol) else None,
            max_push_bytes=self._settings.git.max_push_mb * MIB,
            hooks=hooks,
            variables=push.variables if push is not None else {},
        )
        exchange = GitExchange(environ, body, push)
        try:
            exchange.begin(host.open(repository), call, start_response)
        except BaseException:
            exchange.close()
            raise
        return exchange


def parse_target(path: str, environ: WSGIEnvironment) -> tuple[str, GitService, bool]:
    """Return the repository and the service of a request, and whether it asks for the advertisement of the service.

    Raises:
        GitRefusal: the URL belongs to no service, or the method does not fit.
    """
    for service in GitService:
        if path.endswith(f"/{service}"):
            _require_method(environ, "POST")
            return _repository_of(path, f"/{service}"), service, False
    if f"{LFS}/" in f"{path}/":
        raise no_lfs()
    if not path.endswith(ADVERTISEMENT):
        raise missing("This URL does not exist")
    _require_method(environ, "GET")
    names = parse_qs(environ.get("QUERY_STRING", "")).get("service", [])
    if len(names) != 1 or names[0] not in tuple(GitService):
        raise missing("The server supports only the smart protocol of Git, with git-upload-pack and git-receive-pack")
    return _repository_of(path, ADVERTISEMENT), GitService(names[0]), True


def _repository_of(path: str, ending: str) -> str:
    name = path.removesuffix(ending).removeprefix(PREFIX).removesuffix(SUFFIX)
    if NAME.fullmatch(name) is None:
        raise missing()
    return name


def _require_method(environ: WSGIEnvironment, method: str) -> None:
    if environ["REQUEST_METHOD"] != method:
        raise GitRefusal(405, "The method is not allowed for this URL", {"Allow": method})
