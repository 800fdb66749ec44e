"""What a supervisor is told of its sandbox: commands, environment, mounts, limits; plain values that become JSON."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from app.core.limits import SandboxLimits
from app.core.runtimes.recipe import HOST, PORT, Recipe
from app.drivers.sandbox.local_kept import WRITABLE, Kept, note_use
from app.drivers.sandbox.local_tools import LIBRARY, interpreter, tools
from app.drivers.sandbox.port import Order
from app.drivers.sandbox.supervising.jail import TOOLS

ADDRESS_INSIDE, PORT_INSIDE = "127.0.0.1", 3000
OPEN_FILES = 4096
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
"""Whom the machine trusts; package managers that bring lists of their own would not know an operator's."""

ENVIRONMENT = {
    "HOME": "/tmp",  # noqa: S108 (the jail's own)
    "LANG": "C.UTF-8",
    "NODE_ENV": "development",
    "NO_UPDATE_NOTIFIER": "1",
    "ASTRO_TELEMETRY_DISABLED": "1",
    "NEXT_TELEMETRY_DISABLED": "1",
    "NUXT_TELEMETRY_DISABLED": "1",
    "GATSBY_TELEMETRY_DISABLED": "1",
    "HUGO_CACHEDIR": "/tmp/hugo",  # noqa: S108 (the jail's own)
}


def specification(
    folder: Path,
    order: Order,
    kept: Kept | None,
    *,
    user: int | None,
    egress: Sequence[str],
    limits: SandboxLimits,
    install_timeout_s: float,
) -> dict[str, Any]:
    """Everything the supervisor of `folder` needs to know. Raises Rejected for a tool that is not on this machine."""
    recipe = order.recipe
    installed, to_keep = kept is not None and kept.exists, kept is not None and not kept.exists
    return {
        "name": order.name,
        "user": user,
        "python": interpreter().path,
        "mounts": [*interpreter().mounts, *tools(recipe.tools), *_dependencies(folder, kept)],
        "install": [] if installed else [_filled(command) for command in recipe.install],
        "serve": _filled(recipe.serve),
        "keep": str(kept.folder) if kept is not None and to_keep else None,
        "keep_folders": [f"{kept.inside}/{name}" for name in WRITABLE] if kept is not None and to_keep else [],
        "environment": _environment(recipe),
        "port": PORT_INSIDE,
        "egress": list(egress),
        "lifetime_s": order.lifetime_s,
        "install_timeout_s": install_timeout_s,
        "limits": {
            "cpus": limits.cpus,
            "memory_bytes": limits.memory_bytes,
            "processes": limits.processes,
            "disk_bytes": limits.disk_bytes,
            "log_bytes": limits.log_bytes,
            "files": OPEN_FILES,
        },
    }


def _dependencies(folder: Path, kept: Kept | None) -> list[dict[str, object]]:
    """What was kept, read-only; or the folder that is to be kept, to be filled."""
    if kept is None:
        return []
    if not kept.exists:
        return [{"source": f"{folder}/deps", "inside": kept.inside, "writable": True}]
    note_use(kept)
    return [{"source": str(kept.folder), "inside": kept.inside, "over": WRITABLE}]


def _filled(command: Iterable[str]) -> list[str]:
    return [part.replace(PORT, str(PORT_INSIDE)).replace(HOST, ADDRESS_INSIDE) for part in command]


def _environment(recipe: Recipe) -> dict[str, str]:
    bins = "/".join(filter(None, ("/work", recipe.folder, "node_modules/.bin")))
    own = {"PORT": str(PORT_INSIDE), "HOST": ADDRESS_INSIDE, "GALLEY_FOLDER": recipe.folder}
    own |= {"PATH": f"{TOOLS}:{bins}:/usr/local/bin:/usr/bin:/bin"}
    paths = [recipe.environment.get("PYTHONPATH"), LIBRARY if recipe.tools else None]
    own |= {"PYTHONPATH": ":".join(filter(None, paths))} if any(paths) else {}
    trusted = dict.fromkeys(("PIP_CERT", "NODE_EXTRA_CA_CERTS"), AUTHORITIES) if Path(AUTHORITIES).exists() else {}
    return ENVIRONMENT | trusted | dict(recipe.environment) | own
