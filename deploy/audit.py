"""Audit of the locked requirements with pip-audit, with one line about the number of checked packages.

pip-audit skips packages that its advisory service does not know or cannot look up, and reports them as clean. This script
fails only for a known vulnerability, and prints the number of packages that were looked up.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EVERYTHING = "requirements-dev.txt"
"""The file that contains the other lock files."""

WITHIN_S = 180


def main() -> int:
    """Print the result. Return 1 if a locked version has a known vulnerability."""
    vulnerable, line = verdict(ask(ROOT / EVERYTHING))
    sys.stdout.write(f"{line}\n")
    return 1 if vulnerable else 0


def ask(requirements: Path) -> list[dict[str, Any]]:
    """Return the report of pip-audit for each dependency, or nothing if it failed."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", requirements, "--require-hashes", "--disable-pip"]
    more = ["--format", "json", "--progress-spinner", "off", "--timeout", "5"]
    try:
        done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=WITHIN_S, check=False)
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return []
    return found


def verdict(dependencies: list[dict[str, Any]]) -> tuple[bool, str]:
    """Return whether a package is vulnerable, and the text to print."""
    audited = [dependency for dependency in dependencies if "skip_reason" not in dependency]
    known = [
        f"  {package['name']} {package['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'no version'}"
        for package in audited
        for found in package["vulns"]
    ]
    line = f"pip-audit: {len(audited)} of {len(dependencies)} audited, {len(known)} known vulnerabilities"
    if not audited:
        line = f"pip-audit: 0 of {len(dependencies) or 'all'} audited, the advisory service is not reachable"
    return bool(known), "\n".join([line, *known])


if __name__ == "__main__":
    sys.exit(main())
