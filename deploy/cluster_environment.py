"""The environment that every node of the cluster is given: `cluster.env`, secrets made once, and the way to the programs."""

import base64
import os
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from string import Template

from dotenv import dotenv_values

from app.core.environment_fields import KEY_BYTES
from app.core.instance import kept

# Debian keeps servers where only root's PATH looks.
SERVERS = "/usr/sbin"
MADE = {
    "SECRET_KEY": lambda: secrets.token_urlsafe(48),
    "ENCRYPTION_KEYS": lambda: f"k1:{base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}",
    "AWS_ACCESS_KEY_ID": lambda: f"galley{secrets.token_hex(6)}",
    "AWS_SECRET_ACCESS_KEY": lambda: secrets.token_hex(16),
}


def read(root: Path, given: Mapping[str, str]) -> dict[str, str]:
    """The variables of `cluster.env` under those that are given, complete; kept in INSTANCE_DIR for commands to source."""
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
        environment[name] = environment.get(name) or kept(home / name.lower(), make)
    # Nobody else's credentials and regions are asked for.
    environment["AWS_EC2_METADATA_DISABLED"] = "true"
    environment["PATH"] = os.pathsep.join([str(root / ".venv" / "bin"), environment.get("PATH", os.defpath), SERVERS])
    _note(home / "environment", environment, [*told, *MADE, "AWS_EC2_METADATA_DISABLED"])
    return environment


def store_command(environment: Mapping[str, str], home: Path) -> list[str]:
    """The object store: each folder in `home/store` is a bucket."""
    folder = home / "store"
    (folder / environment["S3_BUCKET"]).mkdir(parents=True, exist_ok=True)
    keys = f"{environment['AWS_ACCESS_KEY_ID']},{environment['AWS_SECRET_ACCESS_KEY']}"
    address = f"127.0.0.1:{environment['CLUSTER_STORE_PORT']}"
    quiet = ["--config", os.devnull, "--dir-cache-time", "1s", "--no-checksum"]
    return ["rclone", "serve", "s3", str(folder), "--addr", address, "--auth-key", keys, *quiet]


def _note(file: Path, environment: Mapping[str, str], names: list[str]) -> None:
    """Write down what a shell needs to be one of the nodes; PORT is where people come in."""
    lines = [f"{name}={shlex.quote(environment[name])}" for name in names]
    file.touch(mode=0o600)
    file.write_text("\n".join([*lines, f"PORT={environment['CLUSTER_PORT']}", ""]))
