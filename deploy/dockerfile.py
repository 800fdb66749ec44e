"""Parser of Dockerfiles: stages with a base image and their instructions."""

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

KNOWN = frozenset(
    ["ARG", "CMD", "COPY", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "RUN", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"]
)


@dataclass(frozen=True)
class Instruction:
    """An instruction: its keyword and its text, with continued lines joined."""

    keyword: str
    text: str

    @property
    def arguments(self) -> list[str]:
        """Return the text as a list: parsed as JSON if it is a JSON list, else split as in a shell."""
        return (
            [str(keyword) for keyword in json.loads(self.text)] if self.text.startswith("[") else shlex.split(self.text)
        )


@dataclass
class Stage:
    """A stage: the instructions of one base image."""

    base: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def last(self, keyword: str) -> Instruction:
        """Return the last instruction with a keyword, which overrides the others.

        Raises:
            LookupError: there is none.
        """
        for instruction in reversed(self.instructions):
            if instruction.keyword == keyword:
                return instruction
        raise LookupError(f"The stage on {self.base} has no {keyword}")

    def environment(self) -> dict[str, str]:
        """Return the variables that ARG and ENV set."""
        pairs = [pair for each in self.instructions if each.keyword in ("ARG", "ENV") for pair in each.arguments]
        return dict(pair.split("=", 1) for pair in pairs)


def read(file: Path) -> list[Stage]:
    """Return the stages of a Dockerfile, in order.

    Raises:
        ValueError: an instruction is not one of those known here.
    """
    lines = [line for line in file.read_text().splitlines() if not line.lstrip().startswith("#")]
    text = re.sub(r"\\\n", " ", "\n".join(lines))
    stages: list[Stage] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        keyword, _, text = line.partition(" ")
        if keyword not in KNOWN:
            raise ValueError(f"{keyword} is not an instruction that is understood here")
        if keyword == "FROM":
            base, _, name = text.partition(" AS ")
            stages.append(Stage(base.strip(), name.strip() or str(len(stages))))
        else:
            stages[-1].instructions.append(Instruction(keyword, re.sub(r"\s{2,}", " ", text.strip())))
    return stages
