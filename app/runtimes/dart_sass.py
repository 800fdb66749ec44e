"""Installation of Dart Sass for Hugo, which Python packages of Hugo do not contain."""

INSTALL_SASS = """\
import base64, hashlib, io, json, os, pathlib, platform, shutil, ssl, subprocess, sys, tarfile, time, urllib.request
MAX_FILES, MAX_BYTES, MAX_ARCHIVE_BYTES = 20_000, 1 << 20, 64 << 20
SKIPPED = {"node_modules", ".git", "content", "static", "public", "resources"}
folder, roots = pathlib.Path(sys.argv[1]), sys.argv[2:]
program = folder / "sass" / "dart-sass" / "sass"
link = pathlib.Path.home() / ".local" / "bin" / "sass"
def templates():
    for root in roots:
        for path, names, files in os.walk(root):
            names[:] = sorted(set(names) - SKIPPED)
            if "layouts" in pathlib.PurePath(path).parts:
                yield from (os.path.join(path, name) for name in files if name.endswith(".html"))
def needs_sass():
    for number, path in enumerate(templates()):
        if number == MAX_FILES:
            return False
        try:
            with open(path, "rb") as file:
                if b"dartsass" in file.read(MAX_BYTES).lower():
                    return True
        except OSError:
            continue
    return False
def is_usable(name):
    try:
        command = [name, "--embedded", "--version"]
        return subprocess.run(command, capture_output=True, timeout=30).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
def fetch(address):
    context = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    for is_last in (False, True):
        try:
            with urllib.request.urlopen(address, timeout=60, context=context) as response:
                return response.read(MAX_ARCHIVE_BYTES)
        except OSError:
            if is_last:
                raise
            time.sleep(1)
def install():
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package = f"sass-embedded-linux-{'' if platform.libc_ver()[0] == 'glibc' else 'musl-'}{machine}"
    registry = os.environ.get("npm_config_registry", "https://registry.npmjs.org").rstrip("/")
    print(f"$ npm install {package}", flush=True)
    dist = json.loads(fetch(f"{registry}/{package}/latest"))["dist"]
    archive = fetch(dist["tarball"])
    kind, _, expected = dist["integrity"].partition("-")
    if kind not in ("sha512", "sha384", "sha256"):
        raise ValueError("the registry has no checksum")
    if base64.b64encode(hashlib.new(kind, archive).digest()).decode() != expected:
        raise ValueError("the checksum of the registry differs")
    with tarfile.open(fileobj=io.BytesIO(archive)) as package_files:
        for member in package_files:
            parts = pathlib.PurePosixPath(member.name).parts[1:]
            if member.isfile() and parts[:1] == ("dart-sass",) and ".." not in parts:
                path = folder.joinpath("sass", *parts)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(package_files.extractfile(member).read())
                path.chmod(0o755)
if needs_sass() and not is_usable(shutil.which("sass") or "sass"):
    try:
        if not program.exists():
            folder = folder if os.access(folder, os.W_OK) or not folder.exists() else pathlib.Path("/tmp/dart-sass")
            program = folder / "sass" / "dart-sass" / "sass"
            install()
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(program)
    except Exception as error:
        shutil.rmtree(folder / "sass", ignore_errors=True)
        print(f"Dart Sass could not be installed: {error}", flush=True)
"""
"""Installs Dart Sass below a folder if a template of the other folders uses it and no program `sass` supports Hugo.

The program is linked in a folder of the `PATH`. A failure is only logged: Hugo then names what it needs.
"""


def command(folder: str, *roots: str) -> tuple[str, ...]:
    """Return the command that installs Dart Sass below `folder` if a template below `roots` uses it."""
    return ("python3", "-c", INSTALL_SASS, folder, *roots)
