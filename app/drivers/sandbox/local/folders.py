"""Names and folders of local sandboxes."""

import json
import os
import re
import signal
from contextlib import suppress
from pathlib import Path

from app.drivers.sandbox.local.supervisor.jail_process import started
from app.drivers.sandbox.port import SandboxEnded

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def check_name(name: str) -> str:
    """Return the name of a sandbox. Raises SandboxEnded if it is invalid."""
    if NAME.fullmatch(name) is None:
        raise SandboxEnded("The preview does not exist")
    return name


def make_folder(folder: Path, user: int | None) -> None:
    """Create a folder that belongs to the user of the jail."""
    folder.mkdir(mode=0o755)
    if user is not None:
        os.chown(folder, user, user)


def end_processes(folder: Path) -> None:
    """Kill the processes that the supervisor recorded: the first processes of the jail and the supervisor."""
    try:
        processes = json.loads((folder / "state.json").read_text())["processes"]
    except (OSError, ValueError, KeyError):
        return
    for pid, start_time in processes:
        if start_time and started(pid) == start_time:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
