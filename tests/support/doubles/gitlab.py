"""Double of GitLab on a loopback port with bare repositories: API v4 below `/api/v4`, OAuth below `/oauth`."""

import time

from tests.support.doubles.gitlab_merges import Merges
from tests.support.doubles.server import Call, Reply, Stop

A_MINUTE = 2000


class GitLab(Merges):
    """The double. `budget` is the number of remaining calls per token. It is not reset."""

    def __init__(self) -> None:
        self.budget: dict[str, int] = {}
        self.a_minute = A_MINUTE
        self.reset_at = int(time.time()) + 50
        super().__init__()

    def admit(self, call: Call) -> None:
        if not call.path.startswith("/api/"):
            return
        self.me(call)
        token = call.headers["Authorization"]
        left = self.budget.get(token, self.a_minute)
        if left <= 0:
            raise Stop(429, b"Retry later\n", Retry_After="50")
        self.budget[token] = left - 1

    def add_headers(self, call: Call, reply: Reply) -> None:
        left = self.budget.get(call.headers.get("Authorization", ""), self.a_minute)
        reply.headers.setdefault("RateLimit-Limit", str(self.a_minute))
        reply.headers.setdefault("RateLimit-Remaining", str(left))
        reply.headers.setdefault("RateLimit-Reset", str(self.reset_at))
        reply.headers.setdefault("X-Request-Id", "double")
