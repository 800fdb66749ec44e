"""`Page`: the declaration of a page or a form of the console, and the processing of its requests."""

from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlencode

from flask import Response, current_app, g, request

from app.access import authentication
from app.access.tokens import SessionRequired
from app.console.blueprint import ROOT
from app.console.shell import forms, frame, identity
from app.console.shell.forms import Form
from app.core.limits import InputLimits
from app.core.urls import origin_of
from app.http import body_admission, rate_limits
from app.http.endpoint import Endpoint, endpoint_of
from app.http.headers import InvalidOrigin
from app.http.request_steps import RequestSteps

SEE_OTHER = 303


class PageSteps(RequestSteps):
    """A request of a page. A form runs actions, which have their own transactions."""

    def run(self) -> Response:
        """Refuse forms of other sites and API tokens, then process the request."""
        if not self.is_read:
            check_same_origin()
        if authentication.has_bearer() and not self.declared.guard.bare:
            self._refuse_token()
        return super().run()

    def _refuse_token(self) -> None:
        """Require a session: a page shows lists and the navigation, which no scope or project of a token limits.

        A request with a token has no caller. The error page shows no name.

        Raises:
            SessionRequired: the token is valid and the page is not public.
        """
        rate_limits.check_address(self.declared.rate)
        is_valid = authentication.caller() is not None
        authentication.ignore_api_token()
        if is_valid and not self.declared.guard.public:
            raise SessionRequired

    def read_body(self) -> dict[str, object]:
        """Read the form within its limits."""
        declared = self.declared
        if not isinstance(declared, Page):
            raise TypeError(f"{request.endpoint} is not a page")
        admission = body_admission.begin_admission(
            rate_limits.address(),
            self._check_sender,
            unauthenticated_bytes=InputLimits.form_unauthenticated_bytes,
            held_bytes=forms.held_bytes,
        )
        most = InputLimits.form_unauthenticated_bytes if declared.guard.public else forms.MAX_BYTES
        form = g.console_form = forms.read(
            request,
            accepts=declared.accepts,
            max_bytes=most,
            max_files=declared.max_files,
            admit=admission.admit,
        )
        form.names = declared.names or {}
        return {"form": form}

    def _check_sender(self) -> None:
        """Refuse a large form without a session, except from a browser whose session ended: its text is shown again."""
        if not authentication.has_ended_session():
            self.declared.guard.authenticate()

    def work(self) -> Response:
        """Resolve the target and return the page. Its actions have their own transactions."""
        arguments = self.arguments()
        g.console_scope = arguments["scope"]
        frame.load_preferences()
        if isinstance(form := self.data.get("form"), Form) and not self.declared.guard.public:
            identity.confirm(form)
        response: Response = self.view(**arguments, **self.run_upstream(arguments), **self.data)
        return response

    def show_again(self, form: Form) -> Response:
        """Return the page with the values and the error of a form that failed."""
        g.console_form = form
        self.data = {}
        return self.work()


@dataclass(frozen=True, kw_only=True)
class Page(Endpoint):
    """The declaration of a page (GET) or of a form (POST).

    The view of a form takes the keyword-only parameter `form`. `inputs` are the names of its fields; `fm.*` stands for
    all names with this prefix. Other fields are dropped. `max_files` limits the files. If the form fails, the page
    `shown_by` is returned again with the sent values. `names` gives the input of each field whose path in the API
    differs.
    """

    steps: ClassVar[type[RequestSteps]] = PageSteps

    raw_response: bool = True
    is_page: bool = True
    inputs: tuple[str, ...] | None = None
    shown_by: str | None = None
    names: dict[str, str] | None = None
    max_files: int = InputLimits.multipart_files

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments of the view."""
        return (*super().arguments, *(("form",) if self.inputs is not None else ()))

    def accepts(self, name: str) -> bool:
        """Return whether a field belongs to the form."""
        inputs = (*(self.inputs or ()), *(() if self.guard.public else identity.INPUTS))
        return name in inputs or any(control.endswith("*") and name.startswith(control[:-1]) for control in inputs)


def check_same_origin() -> None:
    """Refuse a form that a page of another site sent, also without a session.

    Raises:
        InvalidOrigin: the origin is not one of the allowed ones.
    """
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site", "none")
    allowed = current_app.config["SETTINGS"].server.allowed_origins
    if origin is not None and origin_of(origin) not in allowed:
        raise InvalidOrigin
    if origin is None and site not in ("none", "same-origin"):
        raise InvalidOrigin


def page_again(endpoint: str, ids: dict[str, str], form: Form) -> Response:
    """Return the GET page of an endpoint with the values of a failed form."""
    declared = endpoint_of(current_app.view_functions[f"{request.blueprint}.{endpoint}"])
    return PageSteps(declared, ids, method="GET").show_again(form)


def see_other(url: str) -> Response:
    """Return a redirect that is not cached."""
    return Response(status=SEE_OTHER, headers={"Location": url, "Cache-Control": "no-store"})


def local_path(target: str) -> str:
    """Return a path of the console to which a form leads. Other URLs are replaced by the home page."""
    inside = target == ROOT or target.startswith((f"{ROOT}/", f"{ROOT}?"))
    return target if inside and "\\" not in target and not any(char < " " for char in target) else ROOT


def lead_back(target: str, done: str, *, undo: str | None = None) -> Response:
    """Return a redirect to a page of the console with the notice of an action and the commit that undoes it."""
    target = local_path(target)
    return see_other(f"{target}{'&' if '?' in target else '?'}{urlencode(notice_query(done, undo))}")


def notice_query(done: str, undo: str | None) -> dict[str, str]:
    """Return the query parameters of a notice. `undo` is the commit that its button "Undo" takes back."""
    return {"done": done} | ({"undo": undo} if undo else {})


def query_of_page() -> dict[str, str]:
    """Return the query parameters of the page, without the notice of a finished action."""
    return {name: value for name, value in request.args.items() if name not in ("done", "undo")}


def current_form() -> Form:
    """Return the form that failed, or an empty one."""
    form: Form | None = g.get("console_form")
    return form or Form()


def is_signed_in() -> bool:
    """Return whether the request has a session."""
    return authentication.caller() is not None


def wants_json() -> bool:
    """Return whether a script of the page sent the request and reads the response as JSON."""
    return request.headers.get("Accept", "").startswith("application/json")
