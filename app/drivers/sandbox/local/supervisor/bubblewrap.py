"""Command line of bubblewrap, and for root the mounts that make its sources accessible to an unprivileged user.

Each jail has separate namespaces. Its network namespace has a loopback interface only.
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
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BWRAP_IDS = 2**31
"""Upper bound of user ids: bubblewrap writes them as signed numbers."""
STAGES = ("/mnt", "/media", "/srv")
FILES = {
    "/etc/passwd": f"site:x:{INSIDE_ID}:{INSIDE_ID}:site:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "/etc/group": f"site:x:{INSIDE_ID}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


@dataclass(frozen=True)
class Mount:
    """A path of the host and its path in the jail. The folders `over` in it are replaced by folders in memory."""

    source: str
    inside: str
    writable: bool = False
    over: tuple[str, ...] = ()


def outer_user(name: str) -> int | None:
    """Return the unprivileged user of a jail, so that limits per user are limits per jail.

    None if this process is not root. The jail then runs as the user of this process.
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
) -> tuple[list[str], int]:
    """Return the argument list that builds the jail and runs `inside`, and the descriptor of bubblewrap's options.

    The options are not arguments, because processes of the jail can read the command line of its first process. `files`
    maps paths in the jail to descriptors of their content. The descriptors that `inside` uses stay open.
    """
    bwrap = _program("bwrap")
    if user is None:
        options = _options(_bwrap_arguments(mounts, info_fd, files, seccomp))
        return [bwrap, "--args", str(options), "--", *inside], options
    stage = next(folder for folder in STAGES if not any(mount.source.startswith(folder + "/") for mount in mounts))
    staged = [replace(mount, source=f"{stage}/{n}") for n, mount in enumerate(mounts)]
    options = _options(_bwrap_arguments(staged, info_fd, files, seccomp))
    drop = [_program("setpriv"), f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"]
    drop += ["--inh-caps=-all", "--bounding-set=-all"]
    # The shell exports variables; bubblewrap must start with an empty environment.
    script = f"export PATH={SYSTEM_PATH}\n" + _staging(stage, [m.source for m in mounts]) + 'exec env -i "$@"'
    shell = [_program("unshare"), "--mount", "--propagation", "private", _program("sh"), "-euc", script, "sh"]
    return [*shell, *drop, bwrap, "--args", str(options), "--", *inside], options


def _options(arguments: list[str]) -> int:
    """Return a descriptor from which bubblewrap reads its options."""
    reader, writer = os.pipe()
    # In a process that gevent has patched, `os.close` closes a pipe later. bubblewrap waits for the end of the pipe.
    with open(writer, "wb") as stream:  # noqa: PTH123 (a descriptor)
        stream.write(b"\0".join(os.fsencode(argument) for argument in arguments) + b"\0")
    return reader


def _program(name: str) -> str:
    return shutil.which(name) or shutil.which(name, path=SYSTEM_PATH) or name


def _staging(stage: str, sources: list[str]) -> str:
    """Return shell lines that bind the sources below a folder that every user may enter."""
    lines = [f"mount -t tmpfs -o size=64k,mode=0755 galley {stage}"]
    for number, source in enumerate(sources):
        target = f"{stage}/{number}"
        lines.append(f"mkdir {target}" if Path(source).is_dir() else f": > {target}")
        lines.append(f"mount --bind {_quoted(source)} {target}")
    return "\n".join(lines) + "\n"


def _bwrap_arguments(mounts: list[Mount], info_fd: int, files: dict[str, int], seccomp: int | None) -> list[str]:
    arguments = [
        "--unshare-user",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    arguments += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--hostname", "preview"]
    arguments += ["--uid", INSIDE_ID, "--gid", INSIDE_ID, "--info-fd", str(info_fd)]
    arguments += ["--ro-bind", "/usr", "/usr"]
    for path in SYSTEM:
        if Path(path).is_symlink():
            arguments += ["--symlink", str(Path(path).readlink()), path]
        elif Path(path).is_dir():
            arguments += ["--ro-bind", path, path]
    for path in READABLE:
        arguments += ["--ro-bind-try", path, path]
    for path, number in files.items():
        arguments += ["--ro-bind-data", str(number), path]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    arguments += ["--size", str(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"]  # noqa: S108 (inside the jail)
    for mount in mounts:
        arguments += ["--bind" if mount.writable else "--ro-bind", mount.source, mount.inside]
        for name in mount.over:
            arguments += ["--size", str(SHARED_MEMORY_BYTES), "--tmpfs", f"{mount.inside}/{name}"]
    arguments += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/work" if mounts else "/"]
    return arguments + (["--seccomp", str(seccomp)] if seccomp is not None else [])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
