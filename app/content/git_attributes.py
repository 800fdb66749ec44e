"""Rules of `.gitattributes` files that send the content of a file to Git LFS."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

NAME = ".gitattributes"
POINTER = b"version https://git-lfs.github.com/spec/v1\n"
"""The start of the text that Git stores instead of the content."""

MAX_FOLDERS, MAX_CHARACTERS = 32, 10_000
"""The folders of a path whose files are read, and the characters of all patterns. Further ones are ignored."""

MAX_COMPARISONS = 20_000
"""The names that the rules of a save are compared with. Further ones match nothing."""

_NOT_LFS = ("-filter", "!filter")


def attribute_files(path: str) -> Iterator[str]:
    """Yield the files whose rules apply to a path. Later ones have priority."""
    folders = path.split("/")[:-1][:MAX_FOLDERS]
    for depth in range(len(folders) + 1):
        yield "/".join((*folders[:depth], NAME))


def _rules_of(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each pattern with a rule about the filter, and whether the rule names LFS."""
    for line in text.splitlines():
        pattern, *attributes = line.split() or [""]
        rules = [attribute for attribute in attributes if attribute in _NOT_LFS or attribute.startswith("filter=")]
        if rules:
            yield pattern.strip('"'), rules[-1] == "filter=lfs"


class LfsRules:
    """The rules about the filter in the texts of some files, given by their paths. They take bounded time."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._remaining = MAX_COMPARISONS
        self._rules, remaining = dict[str, list[tuple[str, bool]]](), MAX_CHARACTERS
        for name, text in files.items():
            self._rules[name] = []
            for rule in _rules_of(text):
                remaining -= len(rule[0])
                if remaining < 0:
                    return
                self._rules[name].append(rule)

    def contain(self, path: str) -> bool:
        """Return whether the last rule about a path names LFS."""
        result = False
        for name in filter(self._rules.__contains__, attribute_files(path)):
            for pattern, is_lfs in self._rules[name]:
                if self._is_match(pattern, path[len(name) - len(NAME) :]):
                    result = is_lfs
        return result

    def _is_match(self, pattern: str, path: str) -> bool:
        """Compare as Git: a pattern without a slash is that of a name, and `**` stands for any number of folders."""
        if "/" not in pattern:
            return self._is_equal(path.rpartition("/")[2], pattern)
        names, positions = path.split("/"), {0}
        for part in pattern.lstrip("/").split("/"):
            if not positions:
                return False
            if part == "**":
                positions = set(range(min(positions), len(names) + 1))
            else:
                positions = {
                    position + 1
                    for position in positions
                    if position < len(names) and self._is_equal(names[position], part)
                }
        return len(names) in positions

    def _is_equal(self, name: str, pattern: str) -> bool:
        self._remaining -= 1
        return self._remaining >= 0 and fnmatchcase(name, pattern)
