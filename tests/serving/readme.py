"""Commands of the tours in the README, and their documented output."""

import re

from tests.serving.processes import ROOT

SHA, TIME = re.compile(r"\b[0-9a-f]{40}\b"), re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def steps(title: str) -> list[tuple[str, str]]:
    """Return (commands, documented output) of the section with this title."""
    return steps_of((ROOT / "README.md").read_text().split(f"## {title}\n")[1].split("\n## ")[0])


def steps_of(section: str) -> list[tuple[str, str]]:
    """Return (commands, documented output) of a Markdown text."""
    found: list[tuple[str, str]] = []
    for kind, text in re.findall(r"```(\w*)\n(.*?)```", section, re.DOTALL):
        if kind == "bash":
            found.append((text, ""))
        else:
            found[-1] = (found[-1][0], text)
    return found


def comparable(text: str) -> list[str]:
    """Return the lines of a step without the parts that differ between runs."""
    return [TIME.sub("TIME", SHA.sub("SHA", line)).rstrip() for line in text.splitlines() if line.strip()]
