"""A Git client of the tests, and projects on repositories that it clones."""

import base64
import contextlib
import http.client
import os
import random
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import sqlalchemy as sa

from app.core.permissions import Role
from app.extensions import db
from app.models.project import Project
from tests.support import factories
from tests.support.pace import within
from tests.support.samples.gitrepo import GitRepo
from tests.support.servers.service import Service
from tests.support.tokens import new_token
from tests.support.world import Person

TIMEOUT_S, END_S, DEADLINE_S = 120, 20, 600
PROGRAMS = (
    "http-backend",
    "upload-pack",
    "receive-pack",
    "pack-objects",
    "index-pack",
    "unpack-objects",
    "pre_receive",
)
FILES = {"README.md": b"# Read me\n", "content/post.md": b"---\ntitle: Post\n---\nText\n"}
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": os.devnull,
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_AUTHOR_NAME": "Ada Author",
    "GIT_AUTHOR_EMAIL": "ada@mail.example.org",
    "GIT_COMMITTER_NAME": "Ada Author",
    "GIT_COMMITTER_EMAIL": "ada@mail.example.org",
}


class Ran(NamedTuple):
    """The result of a Git command."""

    code: int
    output: str
    messages: str


class GitClient:
    """The `git` program in a folder, without any configuration of the machine."""

    def __init__(self, folder: Path, *, timeout_s: float = DEADLINE_S) -> None:
        self.folder, self._timeout_s = folder, timeout_s

    def run(self, *arguments: str, within: str = ".", environment: Mapping[str, str] | None = None) -> Ran:
        """Run a command and return its result."""
        done = subprocess.run(
            ["git", "-c", "protocol.version=2", *arguments],
            cwd=self.folder / within,
            env=ENVIRONMENT | dict(environment or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=self._timeout_s,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def ok(self, *arguments: str, within: str = ".", environment: Mapping[str, str] | None = None) -> str:
        """Run a command that must succeed and return its output."""
        ran = self.run(*arguments, within=within, environment=environment)
        assert ran.code == 0, (arguments, ran.messages)
        return ran.output.strip()

    def clone(self, url: str, *options: str, name: str = "site") -> str:
        """Clone a repository and return the name of its folder."""
        self.ok("clone", "--quiet", *options, url, name)
        return name

    def commit(self, clone: str, files: Mapping[str, bytes | None], message: str = "Edit") -> str:
        """Commit files on the present branch and return the commit. None removes a file."""
        for path, content in files.items():
            file = self.folder / clone / path
            if content is None:
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        self.ok("add", "--all", within=clone)
        self.ok("commit", "--quiet", "--message", message, within=clone)
        return self.ok("rev-parse", "HEAD", within=clone)


def basic(token: str, user: str = "anyone") -> str:
    """Return the header of Basic authentication."""
    return "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()


class Reply(NamedTuple):
    """A response to a request that no Git client sends."""

    status: int
    headers: Message
    text: str


class Site:
    """A project of an organization on a repository that the server stores."""

    def __init__(self, service: Service, files: Mapping[str, Any] = FILES) -> None:
        self.service, self.world = service, service.world
        self.owner = self.world.person()
        self.organization = factories.organization(self.world, self.owner)
        self.repository, self.repo = factories.repository(self.world, dict(files))
        self.project = factories.project(self.world, self.owner, self.organization, self.repository)

    def token(self, *scopes: str, person: Person | None = None, **more: Any) -> str:
        """Return a new API token of a person, by default of the owner with all scopes."""
        return str(new_token(person or self.owner, *scopes, **more)["token"])

    def url(self, token: str | None = None, *, user: str = "anyone", repository: str | None = None) -> str:
        """Return the address of the repository, with a token as the password."""
        credentials = f"{user}:{token}@" if token is not None else ""
        return f"http://{credentials}127.0.0.1:{self.service.port}/git/{repository or self.repository}.git"

    def head(self, branch: str = "main") -> str | None:
        """Return the commit of a branch, or None."""
        listed = self.repo.text("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        return listed or None

    def log(self) -> list[dict[str, Any]]:
        """Return the project log after all jobs have run."""
        self.world.work_off()
        logs: list[dict[str, Any]] = self.owner.get(f"/project-log/{self.project}").ok()["logs"]
        return logs

    def member(self, role: str) -> Person:
        """Return a person with a role in the organization."""
        if role == Role.OWNER:
            return self.owner
        person = self.world.person()
        body = {"email": person.email, "role": role}
        self.owner.patch(f"/organization/member/{self.organization}", body).ok()
        return person

    def project_on(self, branch: str, **fields: Any) -> str:
        """Create a second project on another branch of the repository, and return its id."""
        self.repo.git("branch", branch, "main")
        project = factories.project(self.world, self.owner, self.organization, self.repository, **fields)
        with self.world.app.app_context():
            db.session.execute(sa.update(Project).where(Project.id == project).values(branch=branch))
            db.session.commit()
        return project

    def refs(self) -> str:
        """Return all branches and tags with their objects."""
        return self.repo.text("for-each-ref")

    @staticmethod
    def noise(size: int) -> bytes:
        """Return bytes that cannot be compressed."""
        return random.Random(size).randbytes(size)

    def push_tree(
        self,
        git: GitClient,
        commits: Sequence[Mapping[str, Any]],
        *,
        merge: str | None = None,
        is_refused: bool = False,
    ) -> str:
        """Push commits that `git add` would not create. Return the new head, or the messages of the refusal."""
        git.clone(self.url(self.token()), "--bare", name="bare")
        bare = GitRepo.existing(git.folder / "bare")
        for number, files in enumerate(commits):
            bare.commit(files, merge=merge if number == 0 else None)
        ran = git.run("push", "origin", "main", within="bare")
        assert (ran.code != 0) is is_refused, ran.messages
        return ran.messages if is_refused else bare.head()

    def connection(self) -> contextlib.closing[http.client.HTTPConnection]:
        """Return a connection to the server."""
        return contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=DEADLINE_S))

    def get(self, path: str, *, token: str | None = None, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a GET request."""
        return self.send("GET", path, token=token, headers=headers)

    def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        connection: http.client.HTTPConnection | None = None,
    ) -> Reply:
        """Send a request, by default on a new connection."""
        if connection is None:
            with self.connection() as new_connection:
                return self.send(method, path, body, token=token, headers=headers, connection=new_connection)
        added = {"Authorization": basic(token)} if token is not None else {}
        connection.request(method, path, body or None, added | dict(headers or {}))
        answer = connection.getresponse()
        return Reply(answer.status, answer.headers, answer.read().decode(errors="replace"))

    def raw(self, line: str, head: str, body: bytes, *, token: str) -> bytes:
        """Send a request as bytes. Return the response, up to its end or the end of the connection."""
        headers = (
            f"{line}\r\nHost: galley.example.org\r\nAuthorization: {basic(token)}\r\nGit-Protocol: version=2\r\n"
            f"Content-Type: application/x-git-upload-pack-request\r\n{head}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", self.service.port), TIMEOUT_S) as client:
            client.sendall(headers.encode() + body)
            client.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: client.recv(1 << 16), b""))

    def processes(self) -> list[int]:
        """Return the processes of Git requests that use the repository."""
        folder, pids = str(self.repo.folder), []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                command = " ".join(process.cmdline())
                is_here = folder in command or process.cwd() == folder
                if is_here and any(name in command for name in PROGRAMS):
                    pids.append(process.pid)
        return pids

    def wait_for_no_process(self, *, within_s: float = END_S) -> None:
        """Wait until no process of a Git request uses the repository."""
        deadline = time.monotonic() + within(within_s)
        while self.processes():
            assert time.monotonic() < deadline, "a process of a Git request still runs"
            time.sleep(0.05)

    @contextlib.contextmanager
    def unfinished_requests(self, number: int, token: str, *, service: str = "git-upload-pack") -> Iterator[None]:
        """Hold requests whose body is incomplete. The clients disconnect at the end of the block."""
        head = (
            f"POST /git/{self.repository}.git/{service} HTTP/1.1\r\nHost: a\r\nAuthorization: {basic(token)}\r\n"
            f"Content-Type: application/x-{service}-request\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0098\r\n"
        )
        with contextlib.ExitStack() as stack:
            for _ in range(number):
                client = stack.enter_context(socket.create_connection(("127.0.0.1", self.service.port), TIMEOUT_S))
                client.sendall(head.encode())
            self.wait_for(lambda: len(self.processes()) >= 2 * number)  # http-backend and the service that it starts
            yield

    @contextlib.contextmanager
    def unread_clone(self, token: str) -> Iterator[Callable[[], list[int]]]:
        """Hold a clone whose client does not read the pack. Return the function that lists its processes."""
        want = f"0011command=fetch00010032want {self.head()}\n0009done\n0000".encode()
        head = (
            f"POST /git/{self.repository}.git/git-upload-pack HTTP/1.1\r\nHost: a\r\nGit-Protocol: version=2\r\n"
            f"Authorization: {basic(token)}\r\nContent-Type: application/x-git-upload-pack-request\r\n"
            f"Content-Length: {len(want)}\r\n\r\n"
        )
        with self.small_window() as client:
            client.sendall(head.encode() + want)
            assert client.recv(64).startswith(b"HTTP/1.1 200 ")
            yield self.processes

    def add_tags(self, number: int) -> None:
        """Add tags of the head of the main branch to the repository."""
        head = self.head()
        lines = "".join(f"{head} refs/tags/v{one:05}\n" for one in range(number))
        (self.repo.folder / "packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted\n{lines}")

    @contextlib.contextmanager
    def listing(self, token: str, *, version: int) -> Iterator[socket.socket]:
        """Request the names of all refs in a version of the protocol. The client has a small receive window."""
        path, body = f"/git/{self.repository}.git", b""
        if version == 2:
            line, body = f"POST {path}/git-upload-pack", b"0014command=ls-refs\n0000"
        else:
            line = f"GET {path}/info/refs?service=git-upload-pack"
        head = (
            f"{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nGit-Protocol: version={version}\r\n"
            f"Authorization: {basic(token)}\r\nContent-Type: application/x-git-upload-pack-request\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with self.small_window() as client:
            client.sendall(head.encode() + body)
            yield client

    @contextlib.contextmanager
    def small_window(self) -> Iterator[socket.socket]:
        """Connect with a small receive window, so that an unread answer fills the buffers of the server."""
        with socket.socket() as client:
            client.settimeout(TIMEOUT_S)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", self.service.port))
            yield client

    @staticmethod
    def wait_for(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + within(END_S)
        while not condition():
            assert time.monotonic() < deadline, "the requests have not started"
            time.sleep(0.05)
