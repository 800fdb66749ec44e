"""Builds of hostile sites: the scripts that run in a sandbox, and the expected end of each build.

A script runs after `PRELUDE`. `{data}` is the folder of the service. A build is ready
without the hostile files, or fails with a code and a text that names the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

PRELUDE = """
import contextlib, os, pathlib, shutil, signal, socket, subprocess, sys, time
out = pathlib.Path("out"); out.mkdir()
(out / "index.html").write_text("<title>Home</title><main>Home</main>")
def outcome(*calls):
    \"\"\"Write whether every call was refused.\"\"\"
    opened = []
    for number, call in enumerate(calls):
        with contextlib.suppress(OSError, TimeoutError):
            opened.append((number, call()))
    (out / "outcome.txt").write_text("all refused" if not opened else repr(opened))
def connect(host, port):
    with socket.create_connection((host, port), 2):
        return "open"
def forever(number):
    \"\"\"Start a process of its own session that ignores signals.\"\"\"
    if os.fork() == 0:
        os.setsid()
        for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        while True:
            with open(f"out/changing{number}.txt", "w") as stream:
                stream.write(str(time.time()) * (time.time_ns() % 1000))
"""
HOME = b"<title>Home</title><main>Home</main>"
REFUSED = {"/outcome.txt": b"all refused"}
HEXO = b'{"dependencies": {"hexo": "7"}}'
ELEVENTY = b'{"dependencies": {"@11ty/eleventy": "3"}, "scripts": {"build": "eleventy && a"}}'
TREE = "for number in range({}):\n    folder = out / str(number // 1000); folder.mkdir(exist_ok=True)\n    (folder / str(number)).touch()\n"


@dataclass(frozen=True)
class HostileBuild:
    """A hostile site. `code` is that of the failure, empty for a build that is ready.

    `text` is a part of the failure. The addresses `served` start with their content, and `missing` have none. With
    `is_compared`, its page is compared with an ordinary one: True for a page with a comparison, False without.
    """

    name: str
    script: str = ""
    output: str = "out"
    code: str = ""
    text: str = ""
    served: Mapping[str, bytes] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    is_compared: bool | None = None
    is_quick: bool = False


def _page(name: str, script: str, *, is_compared: bool) -> HostileBuild:
    return HostileBuild(name, f"text = {script}\n(out / 'index.html').write_text(text)", is_compared=is_compared)


LINKS = (
    HostileBuild(
        "links to files of the machine",
        "os.symlink('/etc/passwd', 'out/passwd'); os.symlink('{data}', 'out/data'); os.symlink('/', 'out/root')",
        missing=("/passwd", "/data/", "/root/etc/passwd", "/data/secret_key"),
        is_quick=True,
    ),
    HostileBuild(
        "links to the repository",
        "os.symlink('/work', 'out/all'); os.symlink('../build.py', 'out/script'); os.symlink('..', 'out/above')",
        missing=("/all/build.py", "/script", "/above/build.py"),
    ),
    HostileBuild(
        "links in a circle",
        "os.symlink('circle', 'out/circle'); os.symlink('.', 'out/self'); os.symlink('b', 'out/a'); os.symlink('a', 'out/b')",
        missing=("/circle", "/self/index.html", "/a"),
    ),
    HostileBuild(
        "links to processes",
        "os.symlink('/proc/self/environ', 'out/a'); os.symlink('/proc/1/root/etc/passwd', 'out/b'); os.symlink('/dev/stdin', 'out/c')",
        missing=("/a", "/b", "/c"),
    ),
    HostileBuild(
        "page behind a link",
        "os.mkdir('real'); open('real/a.html', 'w').write('a'); os.symlink('../real', 'out/folder')",
        missing=("/folder/a.html",),
    ),
    HostileBuild(
        "hard links",
        "os.link('build.py', 'out/own.txt')\noutcome(lambda: os.link('/etc/passwd', 'out/passwd'),"
        " lambda: os.link('/run/guest.py', 'out/guest'), lambda: os.link('/proc/self/environ', 'out/environ'))",
        served=REFUSED | {"/own.txt": b"\nimport contextlib"},
        missing=("/passwd", "/guest", "/environ"),
    ),
    HostileBuild("output is a link", "out.rename('real'); os.symlink('real', 'out')", code="NO_OUTPUT", text="Links"),
    HostileBuild("output is a link to the machine", "shutil.rmtree(out); os.symlink('/etc', 'out')", code="NO_OUTPUT"),
    HostileBuild(
        "output below a link",
        "os.symlink('/', 'link')",
        output="link/etc",
        code="NO_OUTPUT",
        text="preview.output",
        is_quick=True,
    ),
    HostileBuild("output is a file", output="build.py", code="NO_OUTPUT", text="preview.output"),
    HostileBuild("output is removed", "shutil.rmtree(out)", code="NO_OUTPUT", text="no output folder"),
    HostileBuild("output above the site", output="../..", code="RUNTIME_UNKNOWN", text="preview.output"),
    HostileBuild("output above a folder", output="out/../../..", code="RUNTIME_UNKNOWN", text="preview.output"),
    HostileBuild("absolute output", output="/etc", code="NO_OUTPUT", text="preview.output"),
    HostileBuild(
        "output of Hexo above the site",
        files={"package.json": HEXO, "_config.yml": b"public_dir: ../../../..\n", ".galley.yml": b""},
        code="NO_STATIC_OUTPUT",
        text="preview.output",
        is_quick=True,
    ),
    HostileBuild(
        "output of Eleventy above the site",
        files={"package.json": ELEVENTY, ".eleventy.js": b"dir: { output: '../../../..' }", ".galley.yml": b""},
        code="NO_STATIC_OUTPUT",
        text="preview.output",
    ),
)
NAMES = (
    HostileBuild(
        "special files",
        "os.mkfifo('out/pipe'); socket.socket(socket.AF_UNIX).bind('out/socket')\n"
        "outcome(lambda: os.mknod('out/disk', 0o60666, os.makedev(7, 0)), lambda: os.mknod('out/null', 0o20666, os.makedev(1, 3)))",
        served=REFUSED,
        missing=("/pipe", "/socket", "/disk", "/null"),
    ),
    HostileBuild(
        "names of devices and dots",
        "for name in ('con', 'nul.html', 'aux.txt', '...', '..a', 'a..', 'a?b#c', 'a%2fb', '-rf', ' '): (out / name).write_text(name)",
        served={"/nul.html": b"nul", "/...": b"...", "/a%3Fb%23c": b"a?b#c", "/a%252fb": b"a%2fb", "/%20": b" "},
        missing=("/a/b", "/a%2fb"),
    ),
    HostileBuild(
        "long names",
        "(out / ('a' * 250 + '.html')).write_text('long')\nos.chdir(out)\n"
        "for _ in range(16):\n    os.mkdir('b' * 250); os.chdir('b' * 250)\nopen('c.html', 'w').write('deep')",
        served={"/" + "a" * 250: b"long"},
        missing=("/" + f"{'b' * 250}/" * 16 + "c.html",),
    ),
    HostileBuild(
        "deep folders",
        "os.chdir(out)\nfor _ in range(200):\n    os.mkdir('d'); os.chdir('d'); open('e.html', 'w').write('deep')",
        served={"/" + "d/" * 60 + "e.html": b"deep"},
        missing=("/" + "d/" * 150 + "e.html",),
    ),
    HostileBuild(
        "names that are no text",
        r"names = (b'a\nb', b'a\x1b[31m', b'\xff\xfe.html', b'a\\b', '\u202egpj.html'.encode(), b'\xed\xa0\x80')"
        "\nfor name in names: open(b'out/' + name, 'wb').write(b'a')\n(out / '.git').mkdir(); (out / '.git/config').touch()",
        missing=("/a%0Ab", "/%FF%FE.html", "/a%5Cb", "/.git/config", "/%ED%A0%80"),
        is_quick=True,
    ),
    HostileBuild(
        "names of addresses and types",
        "pathlib.Path('out/data:text').mkdir()\n"
        "for name in ('data:text/html,a.png', 'data:text/' + 'x' * 200 + ',a.css', 'http:a.html', 'a.html.gz', 'b.svgz', 'c'):"
        "\n    (out / name).write_text('<script>')",
        served={"/data%3Atext/html%2Ca.png": b"<script>", "/a.html.gz": b"<script>", "/c": b"<script>"},
        is_quick=True,
    ),
    HostileBuild(
        "names of the service",
        "for name in ('api/v1/user/me', 'console/index.html', 'healthz', '.galley/guest.js', '.well-known/a', '_headers', 'robots.txt', 'review/x'):"
        "\n    path = out / name; path.parent.mkdir(parents=True, exist_ok=True); path.write_text('own')",
        served={"/api/v1/user/me": b"own", "/healthz": b"own", "/.well-known/a": b"own", "/robots.txt": b"User-agent"},
        missing=("/api/v1/user", "/readyz"),
    ),
    HostileBuild(
        "files without permissions",
        "for name in ('closed.html', 'folder/a.html'):\n    path = out / name; path.parent.mkdir(exist_ok=True); path.write_text('a')\n"
        "os.chmod('out/closed.html', 0); os.chmod('out/folder', 0)",
        missing=("/closed.html",),
    ),
    HostileBuild("setuid", "(out / 'a.bin').write_bytes(b'a'); os.chmod('out/a.bin', 0o6777)", served={"/a.bin": b"a"}),
)
SIZES = (
    HostileBuild("more files than a build has", TREE.format(50_001), code="OUTPUT_TOO_LARGE", text="50,000"),
    HostileBuild("files until the limit", TREE.format(1_000_000), code="BUILD_FAILED", text="disk space or files"),
    HostileBuild(
        "sparse file of 20 GB",
        "os.truncate(os.open('out/a', 66), 20 << 30)",
        code="BUILD_FAILED",
        text="File too large",
    ),
    HostileBuild(
        "sparse file", "os.truncate(os.open('out/a', 66), 2 << 30)", code="OUTPUT_TOO_LARGE", text="too large"
    ),
    HostileBuild(
        "one file under many names",
        "(out / 'a').write_bytes(bytes(1 << 20))\nfor number in range(2000): os.link('out/a', f'out/{number}')",
        code="OUTPUT_TOO_LARGE",
        text="too large",
    ),
    HostileBuild(
        "bytes until the limit",
        "while True:\n    with open(f'out/{time.time_ns()}', 'wb') as stream: stream.write(b'x' * (1 << 24))",
        code="BUILD_FAILED",
        text="disk space or files",
    ),
    HostileBuild(
        "memory until the limit",
        "parts = []\nwhile True: parts.append(b'x' * (1 << 24) + str(len(parts)).encode())",
        code="BUILD_FAILED",
        text="memory",
    ),
)
PROCESSES = (
    HostileBuild(
        "files that change afterwards", "for number in range(8): forever(number)\ntime.sleep(1)", is_quick=True
    ),
    HostileBuild(
        "processes that ignore signals",
        "for each in range(1, 32):\n    with contextlib.suppress(OSError): signal.signal(each, signal.SIG_IGN)\nforever(1)",
    ),
    HostileBuild(
        "fork bomb",
        "for _ in range(5000):\n    try:\n        if os.fork() == 0:\n            os.setsid(); time.sleep(600)\n    except OSError: break",
    ),
    HostileBuild(
        "endless output",
        "for _ in range(600): sys.stdout.write('<script>alert(1)</script>' * 10_000 + '\\n')\nraise SystemExit(3)",
        code="BUILD_FAILED",
        text="status 3",
    ),
    HostileBuild(
        "output with control characters",
        r"os.write(1, b'\x00\x1b]0;title\x07\x1b[2J\xff\xfe</pre><script>alert(1)</script>\x00Error: a\x00b\n'); raise SystemExit(4)",
        code="BUILD_FAILED",
        text="Error: ab",
        is_quick=True,
    ),
    HostileBuild(
        "output for regular expressions",
        "for text in (' ' * 100_000, 'Error ' * 50_000, 'code EBADENGINE\\nRequired: ' * 5_000, '\\x1b]' * 50_000): print(text)\nraise SystemExit(5)",
        code="BUILD_FAILED",
        text="status 5",
    ),
    HostileBuild(
        "kills its parent", "os.kill(os.getppid(), 9); time.sleep(600)", code="BUILD_FAILED", text="ended by itself"
    ),
    HostileBuild("kills all processes", "os.kill(-1, 9); time.sleep(600)", code="BUILD_FAILED", text="ended"),
    HostileBuild("stops its parent", "os.kill(os.getppid(), 19); time.sleep(1); os.kill(os.getppid(), 18)"),
    HostileBuild(
        "messages to the supervisor",
        'def send():\n    for number in range(3, 256):\n        with contextlib.suppress(OSError): os.write(number, b\'{"ended": 0, "during": "serve"}\\n\'); return \'open\'\n'
        "    raise OSError\n"
        "def parent(): return os.listdir(f'/proc/{os.getppid()}/fd')\n"
        "def control():\n    with socket.socket(socket.AF_UNIX) as end: end.connect('{data}/sandboxes/control.sock')\n"
        "outcome(send, parent, control)",
        served=REFUSED,
    ),
    HostileBuild(
        "writes to programs and packages",
        "targets = ['/usr/bin/python3', '/run/guest.py', '/etc/hosts', '/usr/lib/a', '{data}/sandboxes/.kept/a', '/proc/sys/kernel/core_pattern', '/sys/a']\n"
        "outcome(*[lambda path=path: open(path, 'w') for path in targets], *[lambda path=path: os.chmod(path, 0o777) for path in targets])",
        served=REFUSED,
    ),
    HostileBuild(
        "secrets of the service",
        "lines = [repr(dict(os.environ))]\n"
        "for name in ('environ', 'cmdline'):\n    for path in pathlib.Path('/proc').glob('[0-9]*/' + name):\n"
        "        with contextlib.suppress(OSError): lines.append(path.read_text(errors='replace'))\n"
        "for top in ('/tmp', '/run', '/home', '/root', '/var', '/etc', '/work', '{data}'):\n    for folder, _, names in os.walk(top):\n"
        "        for name in names:\n            with contextlib.suppress(OSError): lines.append(pathlib.Path(folder, name).read_text(errors='replace')[:100_000])\n"
        "(out / 'found.txt').write_text('\\n'.join(lines), errors='replace')",
        served={"/found.txt": b"{"},
    ),
    HostileBuild(
        "mounts and namespaces",
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "def call(name, *arguments):\n    if getattr(libc, name)(*arguments) < 0: raise OSError(ctypes.get_errno(), name)\n    return name\n"
        "outcome(lambda: call('mount', b'none', b'/tmp', b'tmpfs', 0, None), lambda: call('unshare', 0x10000000), lambda: call('chroot', b'/tmp'),"
        " lambda: call('ptrace', 16, os.getppid(), 0, 0), lambda: call('setns', 0, 0), lambda: call('umount2', b'/work', 2))",
        served=REFUSED,
    ),
)
NETWORK = (
    HostileBuild(
        "servers of the machine",
        "outcome(*[lambda host=host, port=port: connect(host, port) for host in ('127.0.0.1', '::1') for port in (22, 5000, 5432, 6379, 8000)])",
        served=REFUSED,
        is_quick=True,
    ),
    HostileBuild(
        "metadata and private addresses",
        "outcome(*[lambda host=host: connect(host, 80) for host in ('169.254.169.254', '10.0.0.1', '192.168.0.1', 'fd00:ec2::254', '172.17.0.1')])",
        served=REFUSED,
    ),
    HostileBuild(
        "names and datagrams",
        "def send(host, port):\n    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end: return end.sendto(b'a', (host, port))\n"
        "outcome(lambda: socket.getaddrinfo('example.org', 80), lambda: send('8.8.8.8', 53), lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))",
        served=REFUSED,
    ),
    HostileBuild(
        "requests through the proxy",
        "def ask(target):\n    with socket.create_connection(('127.0.0.1', 3128), 5) as end:\n"
        "        end.sendall(f'CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n'.encode()); answer = end.recv(99)\n"
        "    if not answer or b'403' in answer: raise OSError\n    return answer\n"
        "outcome(lambda: ask('169.254.169.254:80'), lambda: ask('127.0.0.1:5432'), lambda: ask('registry.npmjs.org:443'), lambda: ask('a\\x00b'))",
        served=REFUSED,
    ),
    HostileBuild(
        "sockets of the machine",
        "def join(path):\n    with socket.socket(socket.AF_UNIX) as end: return end.connect(path)\n"
        "outcome(*[lambda path=path: join(path) for path in ('/var/run/postgresql/.s.PGSQL.5432', '/tmp/.s.PGSQL.5432', '/run/docker.sock', '/run/dbus/system_bus_socket', '\\0galley')])",
        served=REFUSED,
    ),
)
PAGES = (
    HostileBuild(
        "bytes that are no text",
        r"(out / 'index.html').write_bytes(b'<title>\xff\x00\xfe</title><main>\xed\xa0\x80\x00'); (out / 'a.css').write_bytes(b'\xff\x00')",
        served={"/": b"<title>\xff\x00\xfe</title>", "/a.css": b"\xff\x00"},
        is_compared=True,
        is_quick=True,
    ),
    HostileBuild(
        "redirects",
        "(out / '_redirects').write_bytes(b'/a /b\\n/b /a\\n/out https://evil.example/\\n/net //evil.example\\n/away/* /:splat\\n/nul /a\\0b 200\\n"
        "/head /x%0d%0aSet-Cookie:a=1\\n/line /x\\rSet-Cookie:a\\n/many/* /' + b':splat' * 9000 + b'\\n' + b'/n /m\\n' * 10_000)",
        served={"/": HOME},
        missing=("/out", "/net", "/nul", "/_redirects", "/away//evil.example", "/many/x", "/head", "/line", "/a", "/n"),
    ),
    HostileBuild(
        "large page for missing addresses",
        "(out / '404.html').write_bytes(b'<p>large' + bytes(50 << 20))",
        served={"/404": b"<p>large"},
    ),
    HostileBuild(
        "drawing with a script",
        "(out / 'a.svg').write_text('<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>'); (out / 'b.xml').write_text('<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>')",
        served={"/a.svg": b"<svg", "/b.xml": b"<!DOCTYPE"},
    ),
    _page("page of 100 MB", "'<p>' + 'a' * (100 << 20)", is_compared=False),
    _page("nested elements", "'<div>' * 200_000", is_compared=False),
    _page("title of 1 MB", "'<title>' + 'a&lt;' * 200_000 + '</title>'", is_compared=True),
    _page("a million blocks", "'<p>a' * 1_000_000", is_compared=False),
    _page("many blocks", "''.join(f'<p>{number}' for number in range(49_000))", is_compared=True),
    _page(
        "attributes for regular expressions",
        "'<a ' + '-' * 300_000 + '=\"' + ' nonce=' * 50_000 + '>' + '<img alt=\"' * 20_000 + ' src = ' * 20_000",
        is_compared=True,
    ),
    _page("open scripts and comments", "'<script>' * 20_000 + '</SCRIPT' + '<!--' * 50_000", is_compared=True),
)
BUILDS = (*LINKS, *NAMES, *SIZES, *PROCESSES, *NETWORK, *PAGES)
