"""API tokens of tests, and clients that use one."""

from typing import Any

from flask import Flask

from tests.support.world import Answer, Browser, Person

ALL_SCOPES = ("read", "write", "publish", "admin")


class Program(Browser):
    """A client with an API token and without a cookie."""

    def __init__(self, app: Flask, token: str) -> None:
        super().__init__(app)
        self.token = token

    def call(self, method: str, path: str, body: Any = None, **kwargs: Any) -> Answer:
        """Send one request with the token."""
        headers = {"Authorization": f"Bearer {self.token}"} | dict(kwargs.pop("headers", {}))
        return super().call(method, path, body, headers=headers, **kwargs)


def new_token(
    who: Person, *scopes: str, projects: list[str] | None = None, organization: str | None = None, **more: Any
) -> dict[str, Any]:
    """Create a personal token, or a service account of an organization, and return the object with the secret."""
    path = f"/organization/{organization}/service-accounts" if organization else "/tokens"
    body = {"name": "Deploy", "scopes": list(scopes or ALL_SCOPES), "projects": projects} | more
    created: dict[str, Any] = who.post(path, body).ok(201)
    return created


def program(
    who: Person, *scopes: str, projects: list[str] | None = None, organization: str | None = None, **more: Any
) -> Program:
    """Return a client with a new token of the user."""
    made = new_token(who, *scopes, projects=projects, organization=organization, **more)
    return Program(who.app, made["token"])
