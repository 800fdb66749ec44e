"""The environment of every node of the cluster: `cluster.env`, stored secrets and the PATH of the programs."""

import base64
import os
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from string import Template

from dotenv import dotenv_values

from app.security.private_files import read_or_create
from app.settings.fields import KEY_BYTES

# On Debian, servers are in folders that only the PATH of root contains.
SERVERS = "/usr/sbin"
MADE = {
    "SECRET_KEY": lambda: secrets.token_urlsafe(48),
    "ENCRYPTION_KEYS": lambda: f"k1:{base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}",
    "AWS_ACCESS_KEY_ID": lambda: f"galley{secrets.token_hex(6)}",
    "AWS_SECRET_ACCESS_KEY": lambda: secrets.token_hex(16),
}


def read(root: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of `cluster.env`, overridden by the arguments. INSTANCE_DIR stores them for shell commands."""
    told = {
        name: value or "" for name, value in dotenv_values(root / "deploy" / "cluster.env", interpolate=False).items()
    }
    environment = told | dict(given)
    environment |= {
        name: Template(value).safe_substitute(environment) for name, value in told.items() if name not in given
    }
    home = root / environment["INSTANCE_DIR"]
    environment["INSTANCE_DIR"] = str(home)
    environment["CLUSTER_CODE"] = str(root / environment["CLUSTER_CODE"])
    for name, make in MADE.items():
        environment[name] = environment.get(name) or read_or_create(home / name.lower(), make)
    # Ignore the credentials and regions of the user.
    environment["AWS_EC2_METADATA_DISABLED"] = "true"
    environment["PATH"] = os.pathsep.join([str(root / ".venv" / "bin"), environment.get("PATH", os.defpath), SERVERS])
    _note(home / "environment", environment, [*told, *MADE, "AWS_EC2_METADATA_DISABLED"])
    return environment


def store_command(environment: Mapping[str, str], home: Path) -> list[str]:
    """Return the command of the object store. Each folder in `home/store` is a bucket."""
    folder = home / "store"
    (folder / environment["S3_BUCKET"]).mkdir(parents=True, exist_ok=True)
    keys = f"{environment['AWS_ACCESS_KEY_ID']},{environment['AWS_SECRET_ACCESS_KEY']}"
    address = f"127.0.0.1:{environment['CLUSTER_STORE_PORT']}"
    quiet = ["--config", os.devnull, "--dir-cache-time", "1s", "--no-checksum"]
    return ["rclone", "serve", "s3", str(folder), "--addr", address, "--auth-key", keys, *quiet]


def _note(file: Path, environment: Mapping[str, str], names: list[str]) -> None:
    """Write the variables that a shell needs to act as a node. PORT is the port of nginx."""
    lines = [f"{name}={shlex.quote(environment[name])}" for name in names]
    file.touch(mode=0o600)
    file.write_text("\n".join([*lines, f"PORT={environment['CLUSTER_PORT']}", ""]))
