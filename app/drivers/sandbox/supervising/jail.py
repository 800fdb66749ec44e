"""The walls: one `bwrap` command line, and before it, for root, a view of the sources that a plain user can reach.

Knows nothing of what runs inside. Every namespace is the jail's own; the network namespace has a loopback and nothing
else.
"""

import os
import shutil
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

INSIDE_ID = "1000"
SHARED_MEMORY_BYTES = 64 * 1024 * 1024
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
READABLE = (
    *("/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/alternatives"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types"),
)
TOOLS = "/opt/galley"
BWRAP_IDS = 2**31
"""bubblewrap writes ids as signed numbers."""
STAGES = ("/mnt", "/media", "/srv")
FILES = {
    "/etc/passwd": f"site:x:{INSIDE_ID}:{INSIDE_ID}:site:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "/etc/group": f"site:x:{INSIDE_ID}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


@dataclass(frozen=True)
class Mount:
    """A path of the host and where the jail sees it; `over` are folders in it that the jail gets in memory instead."""

    source: str
    inside: str
    writable: bool = False
    over: tuple[str, ...] = ()


def outer_user(name: str) -> int | None:
    """The plain user that root runs this jail as: one of its own, so that limits a user are limits a jail.

    None where we are no root ourselves; the jail then is our own user, under another number.
    """
    if os.geteuid() != 0:
        return None
    mapped = sum(int(line.split()[2]) for line in Path("/proc/self/uid_map").read_text().splitlines())
    mapped = min(mapped, BWRAP_IDS)
    return mapped // 2 + zlib.crc32(name.encode()) % (mapped // 4)


def command(
    mounts: list[Mount],
    user: int | None,
    inside: list[str],
    *,
    info_fd: int,
    files: dict[str, int],
    seccomp: int | None,
) -> list[str]:
    """The argument list that builds the jail and runs `inside` in it.

    `files` are descriptors by the path at which the jail reads what they hold; the ones of `inside` stay open.
    """
    bwrap = shutil.which("bwrap") or "bwrap"
    if user is None:
        return [bwrap, *_walls(mounts, info_fd, files, seccomp), "--", *inside]
    stage = next(place for place in STAGES if not any(mount.source.startswith(place + "/") for mount in mounts))
    staged = [replace(mount, source=f"{stage}/{n}") for n, mount in enumerate(mounts)]
    walls = _walls(staged, info_fd, files, seccomp)
    drop = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"]
    drop += ["--inh-caps=-all", "--bounding-set=-all"]
    script = _staging(stage, [mount.source for mount in mounts]) + 'exec "$@"'
    return [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-euc",
        script,
        "sh",
        *drop,
        bwrap,
        *walls,
        "--",
        *inside,
    ]


def _staging(stage: str, sources: list[str]) -> str:
    """Shell lines that show the sources below a folder that everybody may enter; they go with the mount namespace."""
    lines = [f"mount -t tmpfs -o size=64k,mode=0755 galley {stage}"]
    for number, source in enumerate(sources):
        place = f"{stage}/{number}"
        lines.append(f"mkdir {place}" if Path(source).is_dir() else f": > {place}")
        lines.append(f"mount --bind {_quoted(source)} {place}")
    return "\n".join(lines) + "\n"


def _walls(mounts: list[Mount], info_fd: int, files: dict[str, int], seccomp: int | None) -> list[str]:
    walls = [
        "--unshare-user",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    walls += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--hostname", "preview"]
    walls += ["--uid", INSIDE_ID, "--gid", INSIDE_ID, "--info-fd", str(info_fd)]
    walls += ["--ro-bind", "/usr", "/usr"]
    for place in SYSTEM:
        if Path(place).is_symlink():
            walls += ["--symlink", str(Path(place).readlink()), place]
        elif Path(place).is_dir():
            walls += ["--ro-bind", place, place]
    for place in READABLE:
        walls += ["--ro-bind-try", place, place]
    for path, number in files.items():
        walls += ["--ro-bind-data", str(number), path]
    walls += ["--proc", "/proc", "--dev", "/dev", "--size", str(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"]  # noqa: S108 (the jail's own)
    for mount in mounts:
        walls += ["--bind" if mount.writable else "--ro-bind", mount.source, mount.inside]
        for name in mount.over:
            walls += ["--size", str(SHARED_MEMORY_BYTES), "--tmpfs", f"{mount.inside}/{name}"]
    walls += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/work"]
    return walls + (["--seccomp", str(seccomp)] if seccomp is not None else [])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
