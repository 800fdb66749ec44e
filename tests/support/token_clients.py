"""Processes with many greenlets that request the token of one credential, described on standard input.

They are forks of a process that has imported the application: an import takes a second.
"""

from gevent import monkey

monkey.patch_all()

import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

from gevent.pool import Pool  # noqa: E402

import app.blueprints  # noqa: E402, F401 (the factory imports it later, but the forks share it)
from app.drivers.errors import DriverError  # noqa: E402
from app.extensions import drivers  # noqa: E402
from app.factory import create_app  # noqa: E402
from app.resources.git_provider.provider_selection import token_refresher  # noqa: E402
from config import Settings  # noqa: E402


def main(told: dict[str, object]) -> None:
    """Request the token in one process for each name, and print the results of all."""
    names, folder = [str(name) for name in told["names"]], Path(str(told["folder"]))  # type: ignore[attr-defined]
    if len(names) == 1:
        print(json.dumps(ask_together(told, folder / f"ready-{names[0]}")))
        return
    for name in names:
        if os.fork() == 0:
            (folder / f"result-{name}").write_text(json.dumps(ask_together(told, folder / f"ready-{name}")))
            return
    for _ in names:
        os.wait()
    print(json.dumps([token for name in names for token in json.loads((folder / f"result-{name}").read_text())]))


def ask_together(told: dict[str, object], ready: Path) -> list[str]:
    """Report readiness, wait for the start file, request the token in every greenlet, and return the results."""
    app = create_app(Settings.for_tests(Path(str(told["home"])), **told["environment"]))  # type: ignore[arg-type]
    with app.app_context():
        refresher = token_refresher(drivers.git)

    def ask(_number: int) -> str:
        try:
            return refresher.token(str(told["credential_id"]))
        except DriverError as error:
            return type(error).__name__

    ready.touch()
    deadline = time.monotonic() + 120
    while not (ready.parent / "go").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    count = int(str(told["greenlets"]))
    return Pool(count).map(ask, range(count))


if __name__ == "__main__":
    main(json.loads(sys.stdin.read()))
