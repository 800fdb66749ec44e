"""Ask pip-audit about every locked requirement and say in one line how many of them it could really look up.

pip-audit passes over what its advisory service does not know or cannot be asked for, and calls that clean. Here only a
known vulnerability fails; that nothing could be asked is said, so that nobody takes silence for a verdict.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EVERYTHING = "requirements-dev.txt"
"""Locks what the other files lock too."""

WITHIN_S = 180


def main() -> int:
    """Print the verdict; 1 where a locked version has a known vulnerability."""
    vulnerable, line = verdict(ask(ROOT / EVERYTHING))
    sys.stdout.write(f"{line}\n")
    return 1 if vulnerable else 0


def ask(requirements: Path) -> list[dict[str, Any]]:
    """What pip-audit tells of each dependency; nothing where it gave up."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", requirements, "--require-hashes", "--disable-pip"]
    more = ["--format", "json", "--progress-spinner", "off", "--timeout", "5"]
    try:
        done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=WITHIN_S, check=False)
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return []
    return found


def verdict(dependencies: list[dict[str, Any]]) -> tuple[bool, str]:
    """Whether anything is vulnerable, and what to print."""
    audited = [one for one in dependencies if "skip_reason" not in one]
    known = [
        f"  {one['name']} {one['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'no version'}"
        for one in audited
        for found in one["vulns"]
    ]
    line = f"pip-audit: {len(audited)} of {len(dependencies)} audited, {len(known)} known vulnerabilities"
    if not audited:
        line = f"pip-audit: 0 of {len(dependencies) or 'all'} audited, the advisory service is not reachable"
    return bool(known), "\n".join([line, *known])


if __name__ == "__main__":
    sys.exit(main())
