"""Commit of 100 files on provider A at 100 ms per call, compared with the minimal number of round trips.

Goal: at most 1.15 × (ceil(100 / 10) + 5) round trips.
"""

import logging
import math
import statistics
import time
from pathlib import Path

import structlog

from app.drivers.git.github.provider import GitHubRepository
from app.drivers.git.port import Action, FileChange, Person, RepoRef
from tests.support.doubles.github import GitHub
from tests.support.doubles.plumbing import Plumbing

FILES, AT_ONCE, CALL_S, ROUNDS, GOAL = 100, 10, 0.1, 5, 1.15
REPO = "team/site"


def measure(host: GitHub, git: Plumbing, number: int) -> float:
    """Return the duration of one commit in seconds."""
    token = host.installation_token(90)
    repository = GitHubRepository(
        host.api_url, RepoRef(REPO), lambda rejected=None: token, bot=Person("Bot", "bot@mail.example.org")
    )
    changes = [FileChange(f"r{number}/n{each}.md", Action.CREATE, b"%d %d" % (number, each)) for each in range(FILES)]
    head = git.head()
    start = time.perf_counter()
    repository.commit("main", changes, "Bench", expected_head=head)
    return time.perf_counter() - start


def test_commit_of_100_files_is_within_the_goal_for_round_trips(tmp_path: Path) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    host, git = GitHub(), Plumbing(tmp_path / "site.git", {"a.md": b"a"})
    host.add(REPO, git)
    host.install("team", REPO)
    host.latency_s = CALL_S
    taken = [measure(host, git, number) for number in range(ROUNDS)]
    host.close()
    least_s = (math.ceil(FILES / AT_ONCE) + 5) * CALL_S
    ratio = statistics.median(taken) / least_s
    print(f"\n{FILES} files at {CALL_S * 1000:.0f} ms a call: {ratio:.3f} of {least_s:.1f} s (goal {GOAL})")
    assert ratio <= GOAL
