"""Configuration of an unprivileged nginx in a separate folder, based on `nginx/galley.conf.template`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

TEMPLATE = Path(__file__).with_name("nginx") / "galley.conf.template"
MAIN = """\
daemon off;
{user}
worker_processes 2;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
    server_names_hash_bucket_size 128;
{temporary}
    include {folder}/galley.conf;
}}
"""
FAILURES = "max_fails=0"


def command(home: Path) -> list[str]:
    """Return the start command."""
    return ["nginx", "-p", str(home / "nginx"), "-e", "stderr", "-c", str(home / "nginx" / "nginx.conf")]


def write(home: Path, environment: Mapping[str, str], ports: Sequence[int]) -> None:
    """Write both files to `home/nginx`, for web nodes on the ports of this machine."""
    folder = home / "nginx"
    folder.mkdir(parents=True, exist_ok=True)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "\n".join(f"    {kind}_temp_path {folder}/{kind};" for kind in kinds)
    # Without this line the workers of an nginx started by root cannot read this folder.
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(MAIN.format(user=user, folder=folder, temporary=temporary))
    values = {
        "GALLEY_SERVERS": " ".join(f"server 127.0.0.1:{port} {FAILURES};" for port in ports),
        "GALLEY_LISTEN": f"127.0.0.1:{environment['CLUSTER_PORT']}",
        "GALLEY_ACCESS_LOG": str(home / "logs" / "access.log"),
        "PREVIEW_HOST": environment["PREVIEW_HOST"],
    }
    (folder / "galley.conf").write_text(Template(TEMPLATE.read_text()).safe_substitute(values))
