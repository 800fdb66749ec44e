"""The README's tours as commands, and what it says they print."""

import re

from tests.serving.processes import ROOT

SHA, TIME = re.compile(r"\b[0-9a-f]{40}\b"), re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def steps(title: str) -> list[tuple[str, str]]:
    """(commands, what the README says they print) of the section with this title."""
    section = (ROOT / "README.md").read_text().split(f"## {title}\n")[1].split("\n## ")[0]
    found: list[tuple[str, str]] = []
    for kind, text in re.findall(r"```(\w*)\n(.*?)```", section, re.DOTALL):
        if kind == "bash":
            found.append((text, ""))
        else:
            found[-1] = (found[-1][0], text)
    return found


def comparable(text: str) -> list[str]:
    """The lines of a step without what differs from run to run."""
    return [TIME.sub("TIME", SHA.sub("SHA", line)).rstrip() for line in text.splitlines() if line.strip()]
