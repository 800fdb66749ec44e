"""Application with doubles of both Git hosts, and the actions of users at the hosts."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from flask import Flask

from tests.support.applications import application, settings_for
from tests.support.databases import another_database
from tests.support.doubles.github import GitHub
from tests.support.doubles.gitlab import GitLab
from tests.support.doubles.plumbing import Plumbing
from tests.support.samples.gitrepo import Content
from tests.support.world import Person, World

FILES: dict[str, Content] = {"hugo.toml": b'title = "T"\n', "content/a.md": b"# A\n", "content/b.md": b"# B\n"}
HOOK_A, HOOK_B = "hook-word-of-a", "hook-word-of-b"


class Hosts:
    """The doubles and a folder for their repositories."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.github, self.gitlab = folder, GitHub(), GitLab()

    def environment(self) -> dict[str, object]:
        """Return the variables that select the doubles."""
        a, b = self.github, self.gitlab
        return {
            "GITHUB_URL": a.url,
            "GITHUB_API_URL": a.api_url,
            "GITHUB_APP_ID": a.app_id,
            "GITHUB_APP_SLUG": a.app_slug,
            "GITHUB_APP_CLIENT_ID": a.client_id,
            "GITHUB_APP_CLIENT_SECRET": a.client_secret,
            "GITHUB_APP_PRIVATE_KEY": a.private_key,
            "GITHUB_WEBHOOK_SECRET": HOOK_A,
            "GITLAB_URL": b.url,
            "GITLAB_CLIENT_ID": b.client_id,
            "GITLAB_CLIENT_SECRET": b.client_secret,
            "GITLAB_WEBHOOK_SECRET": HOOK_B,
        }

    def on_github(self, *logins: str, files: dict[str, Content] | None = None, installed: bool = True) -> "OnGitHub":
        """Create a GitHub repository with these writers and the installed app."""
        owner = f"team{secrets.token_hex(4)}"
        name = f"{owner}/site"
        git = Plumbing(self.folder / f"{owner}.git", files or FILES)
        self.github.add(name, git, *logins)
        number = self.github.install(owner, *([name] if installed else [])).id
        return OnGitHub(name, git, str(number))

    def on_gitlab(self, *logins: str, files: dict[str, Content] | None = None) -> "OnGitLab":
        """Create a GitLab repository with these writers."""
        owner = f"group{secrets.token_hex(4)}"
        git = Plumbing(self.folder / f"{owner}.git", files or FILES)
        made = self.gitlab.add(f"{owner}/site", git, *logins)
        return OnGitLab(made.name, git, str(made.id))

    def installation_of(self, name: str) -> str:
        """Return the installation that owns a GitHub repository."""
        return str(next(one.id for one in self.github.installations.values() if name in one.repositories))

    def close(self) -> None:
        self.github.close()
        self.gitlab.close()


class OnGitHub:
    """A repository on GitHub."""

    def __init__(self, name: str, git: Plumbing, installation: str) -> None:
        self.name, self.git, self.installation = name, git, installation


class OnGitLab:
    """A repository on GitLab."""

    def __init__(self, name: str, git: Plumbing, number: str) -> None:
        self.name, self.git, self.number = name, git, number


@contextmanager
def hosted_application(store: str, home: Path, **more: object) -> Iterator[tuple[Flask, Hosts]]:
    """Build an application on its own database, with its hosts."""
    hosts = Hosts(home / "hosts")
    try:
        with (
            another_database(store, home) as url,
            application(settings_for(home / "instance", url, **hosts.environment() | more)) as app,
        ):
            yield app, hosts
    finally:
        hosts.close()


def login_of(person: Person) -> str:
    """Return the login of a user at the hosts."""
    return f"l{person.id[-12:]}"


def connect_github(person: Person, hosts: Hosts, installation: str) -> dict[str, Any]:
    """Install and approve the app, as a user does in the browser. Return the credential."""
    url = person.post("/api/auth/provider_a/start", {}).ok()["url"]
    state = parse_qs(urlsplit(url).query)["state"][0]
    body = {"code": hosts.github.approve(login_of(person)), "installation_id": installation, "state": state}
    created: dict[str, Any] = person.post("/api/auth/provider_a", body).ok()
    return created


def connect_gitlab(person: Person, hosts: Hosts) -> dict[str, Any]:
    """Approve the application, as a user does in the browser. Return the credential."""
    url = person.post("/api/auth/provider_b/start", {}).ok()["url"]
    state = parse_qs(urlsplit(url).query)["state"][0]
    body = {"code": hosts.gitlab.approve(url, login_of(person)), "state": state}
    created: dict[str, Any] = person.post("/api/auth/provider_b", body).ok()
    return created


def new_project(person: Person, org: str, provider: str, repository: str, **more: Any) -> str:
    """Connect a repository as a project and return its id."""
    return person.new_project(org, repository, provider=provider, **more)


def pushed(world: World, repository: OnGitHub | OnGitLab, files: dict[str, Content]) -> str:
    """Push from outside and return the new head."""
    return repository.git.commit(files)
