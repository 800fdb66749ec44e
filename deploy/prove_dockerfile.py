"""Build of the image without Docker: it runs the steps of the Dockerfile and starts the service in the last stage.

`debian:<suite>-slim` is what debootstrap makes of Debian's minimal variant. Needs root, debootstrap and bubblewrap:
`python deploy/prove_dockerfile.py FOLDER [PORT]` exits 0 once the health check of the Dockerfile has passed.
"""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from dockerfile import Instruction, Stage, read

ROOT = Path(__file__).resolve().parents[1]
MIRROR = "http://deb.debian.org/debian"
HEALTHY_WITHIN_S = 60
# Files of the machine that a step can read: name server and certificates, for pip.
LENT = {"/etc/resolv.conf": "/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt": "/mnt/lent.crt"}


class Image:
    """A file system at `root`, with the state that the instructions change."""

    def __init__(self, root: Path, stage: Stage) -> None:
        self.root, self.stage = root, stage
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.folder, self.user = "/", "root"

    def build(self, earlier: dict[str, "Image"]) -> None:
        """Run every instruction."""
        for instruction in self.stage.instructions:
            say(f"{self.stage.name}: {instruction.keyword} {instruction.text}"[:150])
            self._carry_out(instruction, earlier)

    def _carry_out(self, instruction: Instruction, earlier: dict[str, "Image"]) -> None:
        match instruction.keyword:
            case "RUN":
                subprocess.run(self.command(["sh", "-c", instruction.text]), check=True)
            case "ARG" | "ENV":
                self.environment |= dict(pair.split("=", 1) for pair in instruction.arguments)
            case "WORKDIR":
                self.folder = instruction.text
                self._at(self.folder).mkdir(parents=True, exist_ok=True)
            case "USER":
                self.user = instruction.text
            case "COPY":
                self._copy(instruction.arguments, earlier)

    def _copy(self, words: list[str], earlier: dict[str, "Image"]) -> None:
        origin = ROOT
        if words[0].startswith("--from="):
            origin = earlier[words.pop(0).removeprefix("--from=")].root
        *sources, place = words
        target = self._at(place if place.startswith("/") else f"{self.folder}/{place}")
        for source in sources:
            found = origin / source.lstrip("/")
            if found.is_dir():
                skipped = shutil.ignore_patterns("__pycache__", "static") if origin is ROOT else None
                shutil.copytree(found, target, symlinks=True, dirs_exist_ok=True, ignore=skipped)
            else:
                shutil.copy(found, target)

    def command(self, words: list[str], **more: str) -> list[str]:
        """Return the command prefix for the present user and folder of the stage."""
        lent = [word for outside, inside in LENT.items() for word in ("--ro-bind-try", outside, inside)]
        given = self.environment | {"PIP_CERT": LENT["/etc/ssl/certs/ca-certificates.crt"]} | more
        environment = [word for pair in given.items() for word in ("--setenv", *pair)]
        jail = ["bwrap", "--bind", str(self.root), "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", *lent]  # noqa: S108 (inside)
        jail += [
            "--cap-add",
            "ALL",
            "--unshare-pid",
            "--die-with-parent",
            "--clearenv",
            *environment,
            "--chdir",
            self.folder,
        ]
        identity = [f"--reuid={self.user}", f"--regid={self.user}", "--init-groups"]
        return [*jail, "setpriv", *identity, *words]

    def _at(self, place: str) -> Path:
        return self.root / place.lstrip("/")


def bootstrap(base: str, folder: Path) -> Path:
    """Return the file system of `debian:<suite>-slim`, created once."""
    named = re.fullmatch(r"debian:(\w+)-slim", base)
    if named is None:
        sys.exit(f"{base} cannot be made here")
    root = folder / f"base-{named[1]}"
    if not root.exists():
        draft = folder / f"draft-{named[1]}"
        shutil.rmtree(draft, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", named[1], str(draft), MIRROR], check=True)
        draft.rename(root)
    return root


def prove(folder: Path, port: int) -> None:
    """Build every stage, start the command of the image, and wait for its health check."""
    images: dict[str, Image] = {}
    for stage in read(ROOT / "Dockerfile"):
        root = folder / f"stage-{stage.name}"
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run(["cp", "-a", str(bootstrap(stage.base, folder)), str(root)], check=True)
        images[stage.name] = Image(root, stage)
        images[stage.name].build(images)
    image = list(images.values())[-1]
    place = {"PORT": str(port)}
    subprocess.run(image.command(["flask", "db", "upgrade"], **place), check=True)
    server = subprocess.Popen(image.command(image.stage.last("CMD").arguments, **place))
    try:
        check = image.stage.last("HEALTHCHECK").text.partition("CMD ")[2]
        await_health(image.command(Instruction("CMD", check).arguments, **place), server)
        say(f"healthy as {image.user}")
    finally:
        server.terminate()
        server.wait(40)


def await_health(check: list[str], server: "subprocess.Popen[bytes]") -> None:
    """Run the health check until it passes."""
    deadline_s = time.monotonic() + HEALTHY_WITHIN_S
    while subprocess.run(check, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        if server.poll() is not None or time.monotonic() > deadline_s:
            sys.exit("The service did not become healthy")
        time.sleep(1)


def say(text: str) -> None:
    """Print the present step."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    prove(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 8000)
