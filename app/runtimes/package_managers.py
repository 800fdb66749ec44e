"""Package managers of Node: which one a lock file needs, in which version, and the command that installs with it.

pnpm and Yarn run by `npm exec`, which installs them from the registry and checks the checksum like any package.
Corepack would also require signatures, which mirrors of the registry do not provide, and Node.js 25 does not contain
it.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

Read = Callable[[str], bytes | None]

# Lock files that npm wrote on another platform often lack optional packages. Fall back to an installation.
_NPM = ("sh", "-c", "npm ci --no-audit --no-fund || npm install --no-audit --no-fund")
WITHOUT_LOCK = ("npm", "install", "--no-audit", "--no-fund")
LOCK_FILES = ("pnpm-lock.yaml", "yarn.lock", "package-lock.json", "npm-shrinkwrap.json")
_FIELD = re.compile(r"(pnpm|yarn)@(\d+\.\d+\.\d+(?:-[\w.-]+)?)(?:\+.*)?")
_PNPM_LOCK_VERSION = re.compile(rb"^lockfileVersion: *['\"]?(\d+)", re.MULTILINE)
_PNPM_OF_LOCK = {"5": "7", "6": "8", "9": "10"}
_PNPM, _YARN, _MODERN_YARN = "10", "1.22.22", "4"
HEAD_BYTES = 4096


@dataclass(frozen=True)
class NodeInstallation:
    """Command that installs the dependencies, its lock file (None without one) and variables of its environment."""

    command: tuple[str, ...]
    lock: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def installation_of(paths: Collection[str], read: Read, package_manager: object) -> NodeInstallation:
    """Return the installation of a folder. `package_manager` is the field `packageManager` of its package.json."""
    lock = next((name for name in LOCK_FILES if name in paths), None)
    match = _FIELD.fullmatch(package_manager) if isinstance(package_manager, str) else None
    name, version = (match[1], match[2]) if match is not None else (None, None)
    if lock == "pnpm-lock.yaml":
        head = (read(lock) or b"")[:HEAD_BYTES]
        return _pnpm(version if name == "pnpm" else None, head, lock)
    if lock == "yarn.lock":
        return _yarn(version if name == "yarn" else None, (read(lock) or b"")[:HEAD_BYTES], lock)
    return NodeInstallation(WITHOUT_LOCK if lock is None else _NPM, lock)


def _pnpm(version: str | None, lock_head: bytes, lock: str) -> NodeInstallation:
    match = _PNPM_LOCK_VERSION.search(lock_head)
    number = match[1].decode() if match is not None else ""
    package = f"pnpm@{version or _PNPM_OF_LOCK.get(number, _PNPM)}"
    return NodeInstallation(_with_npm(package, "pnpm", "install", "--frozen-lockfile"), lock)


def _yarn(version: str | None, lock_head: bytes, lock: str) -> NodeInstallation:
    is_modern = not version.startswith("1.") if version is not None else b"__metadata:" in lock_head
    if not is_modern:
        return NodeInstallation(_with_npm(f"yarn@{version or _YARN}", "yarn", "install", "--frozen-lockfile"), lock)
    # Yarn 2 and later are in another package. Without the variable there is no folder node_modules.
    command = _with_npm(f"@yarnpkg/cli-dist@{version or _MODERN_YARN}", "yarn", "install", "--immutable")
    return NodeInstallation(command, lock, {"YARN_NODE_LINKER": "node-modules", "YARN_ENABLE_GLOBAL_CACHE": "false"})


def _with_npm(package: str, *command: str) -> tuple[str, ...]:
    return ("npm", "exec", "--yes", f"--package={package}", "--", *command)
