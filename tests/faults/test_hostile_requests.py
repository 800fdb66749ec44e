"""Requests whose text or number once blocked a worker, under gunicorn with two workers: each is answered, and no worker ends.

The output shows for each series the statuses, its duration, and the slowest response of `/healthz` in this time.
"""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil
import pytest
import requests

from tests.support import factories
from tests.support.databases import another_database
from tests.support.samples.gitrepo import Content, GitRepo
from tests.support.servers.service import Service

KIB = 1024
FORMS, FILES, VIEWS = 50, 220_000, 6
SHOWN, SAVED, REFUSED = frozenset((200,)), frozenset((200, 303, 409)), frozenset((400, 401, 413, 429))
PAGES: dict[str, Content] = {f"posts/{'a' * 230}{n:03}.md": b"---\ntitle: A\n---\nText\n" for n in range(100)}
STARS = b"collections:\n" + b"".join(
    b'- {name: n%d, folder: posts, match: "%b", fields: [{name: title, type: string}]}\n' % (n, pattern)
    for n, pattern in enumerate((b"*a*a*a*a*a*a*a*ab", b"**/**/**/**/b"))
)
SCHEMAS: dict[str, dict[str, Content]] = {
    "patterns": {".galley.yml": STARS},
    "archetype": {
        "hugo.toml": b"title = 'a'\n",
        "archetypes/default.md": b"---\ntitle: " + b"{{" * 100 * KIB + b"\n---\n",
    },
    "json schema": {"frontmatter.json": b'{"a":"' + b'\\"' * 100_000},
    "yaml schema": {".galley.yml": b"collections: " + b"[a, {b: " * 8_000},
}
LETTERS = " ".join("abcdefgh"[n * n % 8] for n in range(470_000))
EQUAL = "a\n" * 100_000
FORM = "a&" * (512 * KIB)


class Probe:
    """A thread that asks for `/healthz` all the time, with new connections, and stores the durations in seconds."""

    def __init__(self, url: str) -> None:
        self._url, self._stop, self.durations_s = url, threading.Event(), list[float]()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop.is_set():
            start_s = time.monotonic()
            requests.get(f"{self._url}/healthz", timeout=60).raise_for_status()
            self.durations_s.append(time.monotonic() - start_s)
            self._stop.wait(0.02)

    def __enter__(self) -> "Probe":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


class Scene:
    """A service with an owner, and the series of requests that ran against it."""

    def __init__(self, service: Service, say: Callable[[str], None]) -> None:
        self.service, self._say = service, say
        self.owner = service.world.person()
        self.client = service.client(self.owner)
        self.client.headers["Origin"] = service.url
        self.organization = factories.organization(service.world, self.owner)
        self.workers = self.running()

    def project(self, files: dict[str, Content]) -> tuple[str, GitRepo]:
        """Create a project with these files, read its index, and return its id and the repository."""
        name, repository = factories.repository(self.service.world, files)
        project = factories.project(self.service.world, self.owner, self.organization, name)
        self.service.world.work_off(within_s=600)
        return project, repository

    def series(self, name: str, expected: frozenset[int], *calls: Callable[[], requests.Response]) -> None:
        """Send the requests at the same time. Each is answered with an expected status, and no worker ends."""
        with Probe(self.service.url) as probe, ThreadPoolExecutor(len(calls)) as pool:
            start_s = time.monotonic()
            statuses = Counter(done.status_code for done in pool.map(lambda call: call(), calls))
            duration_s = time.monotonic() - start_s
        slowest_s = max(probe.durations_s)
        self._say(
            f"{name}: {dict(statuses)} in {duration_s:.2f} s; /healthz at most {slowest_s:.2f} s; {self.service.tree_mib()} MiB"
        )
        assert set(statuses) <= expected, name
        assert self.running() == self.workers, name

    def running(self) -> set[int]:
        """Return the process ids of the workers."""
        return {worker.pid for worker in psutil.Process(self.service.process.pid).children()}


@pytest.fixture
def scene(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n{store.partition(':')[0]}: {line}", end="", flush=True)

    with (
        another_database(store, tmp_path, is_empty=True) as url,
        Service(tmp_path, DATABASE_URL=url, MAIL_DIR=str(tmp_path / "mail")) as started,
    ):
        yield Scene(started, say)


class TestTexts:
    @pytest.mark.parametrize("name", SCHEMAS)
    def test_schemas(self, scene: Scene, name: str) -> None:
        project, _repository = scene.project(PAGES | SCHEMAS[name])
        numbers = itertools.count()
        base = f"{scene.service.url}/console/projects/{project}"
        api = f"{scene.service.url}/api/v1/project-content/{project}"
        calls = [
            lambda: scene.client.get(f"{base}/content/posts"),
            lambda: scene.client.get(f"{api}/entries?folder=posts"),
            lambda: scene.client.get(f"{base}/edit/posts/{'a' * 230}000.md"),
            lambda: scene.client.post(
                f"{base}/new", {"title": f"New {next(numbers)}", "folder": "posts"}, allow_redirects=False
            ),
        ]
        scene.series(name, SAVED, *calls, *calls)

    def test_commit_messages(self, scene: Scene) -> None:
        project, repository = scene.project({"a.md": b"a\n"})
        for number in range(20):
            repository.commit({"a.md": b"%d\n" % number}, "m\n\nco-authored-by:" + " " * 10_000 + "x")
        base = f"{scene.service.url}/console/projects/{project}"
        api = f"{scene.service.url}/api/v1/project-content/{project}"
        scene.series(
            "messages",
            SHOWN,
            lambda: scene.client.get(f"{base}/history"),
            lambda: scene.client.get(f"{base}/history/a.md"),
            lambda: scene.client.get(f"{api}/history?path=a.md"),
        )

    def test_comparisons(self, scene: Scene) -> None:
        reverse = LETTERS[::-1]
        project, repository = scene.project({"words.txt": LETTERS.encode(), "lines.md": EQUAL.encode()})
        base_sha = repository.head()
        blob = repository.text("rev-parse", f"{base_sha}:lines.md")
        api = f"{scene.service.url}/api/v1"
        draft = {"content": EQUAL.replace("a\na\n", "a\nb\n"), "base_blob_sha": blob, "base_sha": base_sha}
        drafts = f"{api}/project-draft/{project}?file=lines.md"
        assert scene.client.put(drafts, json=draft).ok
        head = repository.commit({"words.txt": reverse.encode(), "lines.md": EQUAL.replace("a\n", "a\nc\n").encode()})
        base = f"{scene.service.url}/console/projects/{project}"
        compare = f"{api}/project-content/{project}/compare?base={base_sha}&head={head}"
        calls = [
            lambda: scene.client.get(f"{compare}&path=words.txt"),
            lambda: scene.client.get(f"{base}/history/words.txt?base={base_sha}"),
            lambda: scene.client.get(f"{base}/conflict/lines.md"),
        ]
        scene.series("comparison, conflict", SHOWN, *calls, *calls)


class TestForms:
    def test_many_fields(self, scene: Scene) -> None:
        project, _ = scene.project({"a.md": b"---\ntitle: A\n---\na\n"})
        editor = f"{scene.service.url}/console/projects/{project}/edit/a.md"
        scene.client.headers["Content-Type"] = "application/x-www-form-urlencoded"
        ended = scene.service.client(scene.service.world.person())
        ended.headers.update(scene.client.headers)
        assert ended.post(
            f"{scene.service.url}/api/v1/auth/sign-out", json={}, headers={"Content-Type": "application/json"}
        ).ok
        anonymous = requests.Session()
        anonymous.headers.update(scene.client.headers)
        large = "fm.title=A&text=" + "a%0A" * (5 * KIB * KIB // 4)
        scene.series("a page", SHOWN, lambda: scene.client.get(editor))
        for name, client, body in (
            ("anonymous", anonymous, FORM),
            ("of an ended session, many fields", ended, FORM),
            ("of an ended session, a large field", ended, large),
            ("with a session, many fields", scene.client, FORM),
            ("with a session, a large field", scene.client, large),
        ):
            call = partial(client.post, editor, body, allow_redirects=False, timeout=120)
            scene.series(f"{FORMS} forms {name}", REFUSED, *[call] * FORMS)
        scene.series("a page", SHOWN, lambda: scene.client.get(editor))


class TestLargeRepository:
    def test_tree_views(self, scene: Scene) -> None:
        files: dict[str, Content] = {
            f"content/s{n // 500:03}/p{n:06}.md": b"---\ntitle: %d\n---\n" % (n % 50) for n in range(FILES)
        }
        project, _ = scene.project(files)
        base = f"{scene.service.url}/console/projects/{project}"
        scene.service.kill()
        scene.service.start()
        scene.workers = scene.running()
        for name in ("cold", "warm"):
            scene.series(
                f"{VIEWS} tree views, {name}",
                SHOWN,
                *[lambda: scene.client.get(f"{base}/content/content?view=tree")] * VIEWS,
            )
            scene.series(
                f"{VIEWS} folders, {name}", SHOWN, *[lambda: scene.client.get(f"{base}/content/content/s001")] * VIEWS
            )
            scene.series(
                f"{VIEWS} filters, {name}",
                SHOWN,
                *[lambda: scene.client.get(f"{base}/content/?view=tree&q=p0001")] * VIEWS,
            )
        assert f"p{FILES - 500:06}.md" in scene.client.get(f"{base}/content/content/s{(FILES - 1) // 500:03}").text
