"""Generator of front matter with comments, anchors, quotes, blocks, dates, line ends and byte order marks."""

import random
from dataclasses import dataclass

WORDS = ["garden", "Ünïcode", "日本語", "it's", 'say "hi"', "a: b", "x # y", "yes", "No", "123", "1.5", "2024-01-02", "~", "null",
         "@home", "- dash", "50% off", "C:\\dir", "#tag", "[x]", "{y}", "trailing:", "émoji 😀", "0x1F", "12:30", "*star", "&and"]  # fmt: skip


@dataclass(frozen=True)
class FrontMatterSample:
    """A file with front matter in one language."""

    path: str
    data: bytes
    language: str


def make(dice: random.Random) -> FrontMatterSample:
    language = dice.choices(["yaml", "toml", "json"], [8, 3, 2])[0]
    newline = dice.choice(["\n", "\n", "\r\n"])
    inner = {"yaml": _yaml, "toml": _toml, "json": _json}[language](dice)
    body = dice.choice(["", "\n# Title\n\nText --- and +++ more.\n", "\nText\n---\nmore\n", "no blank line before\n"])
    fence = {"yaml": "---", "toml": "+++", "json": ""}[language]
    text = f"{fence}\n{inner}{fence}\n{body}" if fence else f"{inner}\n{body}"
    mark = dice.choice([b"", b"", b"\xef\xbb\xbf"])
    return FrontMatterSample("content/a.md", mark + text.replace("\n", newline).encode(), language)


def _yaml(dice: random.Random) -> str:
    lines = []
    for number in range(dice.randint(1, 9)):
        if dice.random() < 0.25:
            lines.append(dice.choice(["# a comment", "", "  # indented comment", "# key: not one"]))
        lines.append(
            _yaml_entry(dice, f"{dice.choice(['title', 'date', 'tags', 'Weight', 'og-image', 'ключ'])}{number}")
        )
    if dice.random() < 0.15:
        lines += ["base: &base {a: 1}", "derived:", "  <<: *base", "  b: 2", "again: *base"]
    if dice.random() < 0.2:
        lines.append(dice.choice(["# last comment", "", "   "]))
    return "\n".join(lines) + "\n"


def _yaml_entry(dice: random.Random, key: str) -> str:
    word = dice.choice(WORDS)
    single, double = "'" + word.replace("'", "''") + "'", '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
    tail = dice.choice(["", "", "", "  # why", " #x", "   "])
    gap = dice.choice([" ", " ", "  ", "\t"])
    return dice.choice(
        [
            f"{key}:{gap}plain words here{tail}",
            f"{key}: {single}{tail}",
            f"{key}: {double}{tail}",
            f"{key}: {dice.choice(['true', 'false', 'null', '~', '12', '-3.5', '1e3', '0o17', ''])}{tail}",
            f"{key}: {dice.choice(['2024-01-02', '2024-01-02T10:00:00Z', '2024-01-02 10:00:00 +02:00', '12:30'])}{tail}",
            f"{key}: [a, {single}, 3]{tail}",
            f"{key}: {{a: 1, b: {double}}}{tail}",
            f"{key}: [\n  a,  # first\n  b\n]{tail}",
            f"{key}:{tail}\n  - one\n  - {single}  # two\n  # between\n  - three: 3\n    four: 4",
            f"{key}:\n- one\n- {double}",
            f"{key}:\n  inner: {single}\n  deeper:\n    - x\n\n    - y",
            f"{key}: |{tail.strip() and ' # c'}\n  first line\n\n  # no comment\n  last line",
            f"{key}: >-\n  folded\n  text\n",
            f"{key}: several plain\n  lines of words",
            f'"{key}": quoted key{tail}',
            f"? {key}\n: explicit",
            f"{key}: !!str 5",
        ]
    )


def _toml(dice: random.Random) -> str:
    lines = []
    for number in range(dice.randint(1, 7)):
        key, word = f"key{number}", dice.choice(WORDS).replace("\\", "\\\\").replace('"', '\\"')
        tail = dice.choice(["", "", "  # why"])
        lines.append(
            dice.choice(
                [
                    f'{key} = "{word}"{tail}',
                    f"{key}   =  'literal words'{tail}",
                    f"{key} = {dice.choice(['true', '12', '-3.5', '1_000', '2024-01-02', '2024-01-02T10:00:00Z'])}{tail}",
                    f'{key} = ["a", "b"]{tail}',
                    f'{key} = [\n  "a",  # first\n  "b",\n]',
                    f'{key} = {{ a = 1, b = "x" }}{tail}',
                    f'{key} = """\nlong\ntext"""',
                    f"# comment\n\n'{key}' = 1",
                ]
            )
        )
    if dice.random() < 0.4:
        lines += ["", "[params]", '  name = "x"  # inner', "[[menu]]", "weight = 1", "[[menu]]", "weight = 2"]
    return "\n".join(lines) + "\n"


def _json(dice: random.Random) -> str:
    margin, members = dice.choice(["  ", "    ", "\t"]), []
    for number in range(dice.randint(2, 6)):
        value = dice.choice(
            ['"words"', "true", "null", "12", "-1.50", '["a", "b"]', '[\n    "a"\n  ]', '{"a": {"b": 1}}', '"\\u00e9"']
        )
        members.append(f'{margin}"key{number}"{dice.choice([": ", ":", " : "])}{value}')
    return "{\n" + ",\n".join(members) + "\n}"
