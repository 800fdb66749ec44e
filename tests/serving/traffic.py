"""Clients that read and write while nodes stop and start, and a comparison of their results with the service."""

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import requests

from tests.serving.clusters import Cluster

PATIENCE_S = 60.0
LOST_NODE = (502, 503)


@dataclass
class Traffic:
    """The readers and writers of the demo project, for the length of a `with`.

    Every second client opens a connection per request. With `repeats` a write whose node was lost is sent again with its
    Idempotency-Key; without, it counts as a failure.
    """

    cluster: Cluster
    readers: int = 4
    writers: int = 3
    savers: int = 1
    repeats: bool = False
    pause_s: float = 0.02
    answers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    logged: set[str] = field(default_factory=set)
    saved: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)

    def __enter__(self) -> "Traffic":
        self._over = threading.Event()
        person = requests.Session()
        person.trust_env = False
        body = {"email": "owner@demo.example.org", "password": self.cluster.password}
        person.post(f"{self.cluster.base}/api/v1/auth/sign-in/email", json=body, timeout=30).raise_for_status()
        self.cookies = person.cookies.get_dict()
        user = self._result(person, "auth/get-session")["user"]["id"]
        self.project = str(self._result(person, f"project/user/{user}")[0]["project_id"])
        jobs = [self._read] * self.readers + [self._log] * self.writers + [self._save] * self.savers
        self._threads = [
            threading.Thread(target=self._work, args=(job, number % 2 == 0)) for number, job in enumerate(jobs)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE_S + 10)

    @property
    def acknowledged(self) -> int:
        """Return the number of successful writes."""
        return len(self.logged) + len(self.saved)

    def stored_writes(self) -> tuple[Counter[str], Counter[str]]:
        """Return how often each name is in the log and how often each path was created."""
        person = self._session()
        names: Counter[str] = Counter()
        cursor = ""
        while cursor is not None:
            page = self._result(person, f"project-log/{self.project}?limit=100&cursor={cursor}")
            names.update(entry["file"] for entry in page["logs"])
            cursor = page["meta"]["next_cursor"]
        tree = self._result(person, f"project-content/{self.project}")["files"]
        paths = {file["path"] for file in tree}
        return names, Counter(path for path in names.elements() if path in paths)

    def _work(self, job: Callable[[requests.Session], None], keeps: bool) -> None:
        person = self._session()
        while not self._over.is_set():
            if not keeps:
                person.close()
                person = self._session()
            try:
                job(person)
            except Exception as error:  # Every other exception is a failure of the client.
                self.failures.append(f"{job.__name__}: {error!r}"[:300])
            time.sleep(self.pause_s)

    def _session(self) -> requests.Session:
        person = requests.Session()
        person.trust_env = False
        person.cookies.update(self.cookies)
        return person

    def _read(self, person: requests.Session) -> None:
        for path in ("auth/get-session", f"project/{self.project}", f"project-content/{self.project}"):
            self._send(lambda path=path: person.get(f"{self.cluster.base}/api/v1/{path}", timeout=30))

    def _log(self, person: requests.Session) -> None:
        name = f"notes/{secrets.token_hex(8)}.md"
        self._write(person, f"project-log/{self.project}", {"action": "update", "file": name}, name, self.logged)

    def _save(self, person: requests.Session) -> None:
        tree = f"{self.cluster.base}/api/v1/project-content/{self.project}?limit=1"
        answer = self._send(lambda: person.get(tree, timeout=30))
        if answer is None or not answer.ok:
            return
        base = answer.json()["result"]["commit_sha"]
        path = f"content/made/{secrets.token_hex(8)}.md"
        files = [{"path": path, "action": "create", "content": "# Made\n"}]
        body = {"message": f"Add {path}", "base_sha": base, "files": files}
        self._write(person, f"project-content/{self.project}/commit", body, path, self.saved)

    def _write(self, person: requests.Session, path: str, body: Any, name: str, acknowledged: set[str]) -> None:
        headers = {"Idempotency-Key": secrets.token_hex(12)}
        url = f"{self.cluster.base}/api/v1/{path}"
        until_s = time.monotonic() + PATIENCE_S
        while True:
            answer = self._send(lambda: person.post(url, json=body, headers=headers, timeout=30))
            if answer is not None and answer.status_code == 201:
                acknowledged.add(name)
                return
            self.unknown.add(name)
            if not self.repeats or time.monotonic() > until_s or (answer is not None and answer.status_code == 409):
                return
            time.sleep(0.2)

    def _send(self, call: Callable[[], requests.Response]) -> requests.Response | None:
        """Send one request. Count a failure, except for a lost node if writes are repeated."""
        started_s = time.monotonic()
        try:
            answer = call()
        except (
            requests.ConnectionError,
            requests.exceptions.ChunkedEncodingError,
        ) as error:  # The connection ended before or during the response body.
            self.answers["cut"] += 1
            if not self.repeats:
                self.failures.append(repr(error)[:300])
            return None
        self.slowest_s = max(self.slowest_s, time.monotonic() - started_s)
        self.answers[str(answer.status_code)] += 1
        excused = self.repeats and answer.status_code in (*LOST_NODE, 409)
        if not answer.ok and not excused:
            self.failures.append(
                f"{answer.request.method} {answer.request.path_url} {answer.status_code} {answer.text[:200]}"
            )
        return answer

    def _result(self, person: requests.Session, path: str) -> Any:
        answer = person.get(f"{self.cluster.base}/api/v1/{path}", timeout=30)
        answer.raise_for_status()
        return answer.json()["result"]
