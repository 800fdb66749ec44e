"""A Dockerfile as data: its stages, each a base and the instructions in order. Knows the instructions, runs nothing."""

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
    """A word and what follows it, continued lines joined."""

    word: str
    rest: str

    @property
    def words(self) -> list[str]:
        """What follows, as a JSON list where it is one, else split as a shell would."""
        return [str(word) for word in json.loads(self.rest)] if self.rest.startswith("[") else shlex.split(self.rest)


@dataclass
class Stage:
    """What is built on one base image."""

    base: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def last(self, word: str) -> Instruction:
        """The instruction of that word that counts.

        Raises:
            LookupError: there is none.
        """
        for instruction in reversed(self.instructions):
            if instruction.word == word:
                return instruction
        raise LookupError(f"The stage on {self.base} has no {word}")

    def environment(self) -> dict[str, str]:
        """What ARG and ENV set, as a container sees it."""
        pairs = [pair for each in self.instructions if each.word in ("ARG", "ENV") for pair in each.words]
        return dict(pair.split("=", 1) for pair in pairs)


def read(file: Path) -> list[Stage]:
    """The stages of a Dockerfile, in order.

    Raises:
        ValueError: an instruction is not one of those known here.
    """
    lines = [line for line in file.read_text().splitlines() if not line.lstrip().startswith("#")]
    text = re.sub(r"\\\n", " ", "\n".join(lines))
    stages: list[Stage] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        word, _, rest = line.partition(" ")
        if word not in KNOWN:
            raise ValueError(f"{word} is not an instruction that is understood here")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(base.strip(), name.strip() or str(len(stages))))
        else:
            stages[-1].instructions.append(Instruction(word, re.sub(r"\s{2,}", " ", rest.strip())))
    return stages
