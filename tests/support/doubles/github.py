"""Double of GitHub on a loopback port with bare repositories: REST below `/api`, OAuth below `/login`.

Requests are validated against the API description of GitHub. `violations` contains the errors.
"""

import re
import time
from dataclasses import replace

from tests.support.doubles.github_openapi import description
from tests.support.doubles.github_pulls import Pulls
from tests.support.doubles.server import Call, Reply, Stop

HOURLY = 5000


class GitHub(Pulls):
    """The double. `budget` is the number of remaining calls per token. `checks` enables the validation of requests."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.budget: dict[str, int] = {}
        self.hourly = HOURLY
        self.checks = True
        self.reset_at = int(time.time()) + 1800
        super().__init__()

    @property
    def api_url(self) -> str:
        return f"{self.url}/api"

    def named(self, call: Call) -> Call:
        """Return a call by the id of a repository as the call by its name, which GitHub's description contains."""
        match = re.match(r"/api/repositories/(\d+)", call.path)
        if match is None:
            return call
        return replace(call, path=f"/api/repos/{self.name_of(int(match[1]))}{call.path[match.end() :]}")

    def admit(self, call: Call) -> None:
        if not call.path.startswith("/api/"):
            return
        known = description() if self.checks else None
        if known is not None:
            self.violations += known.faults(call, call.path.removeprefix("/api"))
        if call.path.startswith(("/api/app/", "/api/applications/")):
            return
        self.grant_of(call)
        token = call.headers["Authorization"]
        left = self.budget.get(token, self.hourly)
        if left <= 0:
            said = "API rate limit exceeded for installation ID 90."
            raise Stop(403, {"message": said, "documentation_url": "https://docs.github.com/rest/rate-limit"})
        self.budget[token] = left - 1

    def answer(self, call: Call) -> Reply:
        call = self.named(call)
        reply = super().answer(call)
        known = description() if self.checks else None
        if known is not None and "/git/" in call.path and reply.status < 300 and not isinstance(reply.body, bytes):
            path = call.path.removeprefix("/api")
            self.violations += [f"double: {f}" for f in known.reply_faults(call, path, reply.status, reply.body)]
        return reply

    def add_headers(self, call: Call, reply: Reply) -> None:
        left = self.budget.get(call.headers.get("Authorization", ""), self.hourly)
        reply.headers.setdefault("X-RateLimit-Limit", str(self.hourly))
        reply.headers.setdefault("X-RateLimit-Remaining", str(left))
        reply.headers.setdefault("X-RateLimit-Reset", str(self.reset_at))
        reply.headers.setdefault("X-GitHub-Request-Id", "D0:UB:LE")
