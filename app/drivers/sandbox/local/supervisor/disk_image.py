"""File system images that bound the disk of a sandbox. The kernel counts blocks and files, also of deleted files.

An image is mounted in the mount namespace of the supervisor only. The kernel unmounts it and frees the loop device when
the last process of the namespace ends.
"""

import os
import shutil
import subprocess
from pathlib import Path

PROGRAMS = ("mkfs.ext4", "mount", "unshare")
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
INODE_BYTES = 256
METADATA_BYTES = 32 * 1024 * 1024
RESERVED_INODES = 11
TIMEOUT_S = 60
PROBE = 'mount -o loop,nosuid,nodev "$1" /mnt'


def is_supported(folder: Path) -> bool:
    """Return whether this process may mount an image that is stored below `folder`."""
    if os.geteuid() != 0 or not all(shutil.which(name, path=SYSTEM_PATH) for name in PROGRAMS):
        return False
    image = folder / f".probe-{os.getpid()}.img"
    try:
        create(image, size_bytes=1024 * 1024, files=100)
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-euc", PROBE, "sh", str(image)]
        return _run(command).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        image.unlink(missing_ok=True)


def create(image: Path, *, size_bytes: int, files: int) -> None:
    """Create a sparse image with room for `files` files of `size_bytes` in total. Raises OSError."""
    with image.open("xb") as stream:
        stream.truncate(size_bytes + files * INODE_BYTES + METADATA_BYTES)
    options = ["-q", "-F", "-m", "0", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard"]
    process = _run(["mkfs.ext4", *options, "-N", str(files + RESERVED_INODES), str(image)])
    if process.returncode != 0:
        raise OSError("Cannot create the disk image of a sandbox")


def mount(image: Path, folder: Path) -> None:
    """Mount an image in the mount namespace of this process. Raises OSError."""
    if _run(["mount", "-o", "loop,nosuid,nodev,noatime", str(image), str(folder)]).returncode != 0:
        raise OSError("Cannot mount the disk image of a sandbox")


def _run(command: list[str]) -> "subprocess.CompletedProcess[bytes]":
    environment = {"PATH": SYSTEM_PATH}
    return subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False, env=environment)
