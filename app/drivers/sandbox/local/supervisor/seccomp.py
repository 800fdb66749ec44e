"""Filter of the system calls of a jail, as a classic BPF program for `bwrap --seccomp`.

The filter refuses calls that no site generator needs and that have permitted escapes from namespaces, or that use
memory and processors outside of the limits. Sources of the numbers: `asm/unistd_64.h` and `asm-generic/unistd.h` of
Linux.
"""

import errno
import platform
import struct

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE = {"x86_64": 56, "aarch64": 220}
CLONE3 = 435
CLONE_NEW_ANY = 0x7E020080  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET and TIME
X32 = 0x40000000

# name: (x86_64, aarch64); None if the architecture has no such call.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "syslog": (103, 116),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "acct": (163, 89),
    "mount": (165, 40),
    "umount2": (166, 39),
    "swapon": (167, 224),
    "reboot": (169, 142),
    "init_module": (175, 105),
    "sched_setaffinity": (203, 122),
    "mbind": (237, 235),
    "kexec_load": (246, 104),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "move_pages": (279, 239),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "finit_module": (313, 273),
    "memfd_create": (319, 279),
    "kexec_file_load": (320, 294),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
}

_LOAD, _EQUAL, _SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENT_AT = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000


def program(machine: str | None = None) -> bytes | None:
    """Return the filter of a machine type, or None for an unknown type."""
    name = machine or platform.machine()
    if name not in AUDIT_ARCH:
        return None
    column = list(AUDIT_ARCH).index(name)
    numbers = [row[column] for row in REFUSED.values() if row[column] is not None]
    steps = [_step(_LOAD, _ARCH_AT), _step(_EQUAL, AUDIT_ARCH[name], 1, 0), _step(_RETURN, _KILL), _step(_LOAD, 0)]
    if name == "x86_64":
        steps += [_step(_SET, X32, 0, 1), _error(errno.ENOSYS)]
    for number in numbers:
        steps += [_step(_EQUAL, number or 0, 0, 1), _error(errno.EPERM)]
    # clone3 hides its flags in memory; if it does not exist, libc uses clone.
    steps += [_step(_EQUAL, CLONE3, 0, 1), _error(errno.ENOSYS)]
    steps += [_step(_EQUAL, CLONE[name], 0, 3), _step(_LOAD, _ARGUMENT_AT), _step(_SET, CLONE_NEW_ANY, 0, 1)]
    steps += [_error(errno.EPERM), _step(_RETURN, _ALLOW)]
    return b"".join(steps)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _error(number: int) -> bytes:
    return _step(_RETURN, _ERROR | number)
