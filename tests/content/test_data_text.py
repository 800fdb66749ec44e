"""Tests of edits of data files: everything that does not change keeps its bytes."""

import pytest

from app.content.data_text import ROOT, edit_data, read_data
from app.content.front_matter.edits import UnsupportedEdit

YAML = b"# Menu of the site.\n---\nmain:\n  - name: Home   # first\n    url: /\n  - {name: Blog, url: '/blog'}\n\nsize: 010\n"
YAML_LIST = b"# People\n- name: Ada  # founder\n  since: 2014-03-12\n\n- name: Bo\n  tags: [a, b]\n"
JSON_LIST = b'[\n  {"name": "Ada", "n": 1.50},\n  {"name": "Bo"}\n]\n'
TOML = b'# Settings\ntitle = "A"\n\n[[links]]\nname = "Home" # first\n\n[[links]]\nname = "Blog"\n'


@pytest.mark.parametrize(
    ("path", "data", "changes", "edited"),
    [
        (
            "a.yaml",
            YAML,
            {"main": [{"name": "Start", "url": "/"}, {"name": "Blog", "url": "/blog"}]},
            YAML.replace(b"Home ", b"Start "),
        ),
        ("a.yml", YAML, {"new": True}, YAML + b"new: true\n"),
        (
            "a.yaml",
            YAML_LIST,
            {ROOT: [{"name": "Bo", "tags": ["a", "b"]}]},
            b"# People\n\n- name: Bo\n  tags: [a, b]\n",
        ),
        (
            "a.yaml",
            YAML_LIST,
            {ROOT: [{"name": "Ada", "since": "2014-03-12"}, {"name": "Bo", "tags": ["a", "b", "c"]}, {"name": "Cy"}]},
            YAML_LIST.replace(b"[a, b]", b"[a, b, c]") + b"- name: Cy\n",
        ),
        ("a.yaml", b"[]\n", {ROOT: ["x"]}, b"[x]\n"),
        (
            "a.json",
            JSON_LIST,
            {ROOT: [{"name": "Ada", "n": 1.5}, {"name": "Cy"}]},
            JSON_LIST.replace(b"Bo", b"Cy"),
        ),
        ("a.json", b'\xef\xbb\xbf{"a": {"b": [1, 2]},\r\n "c": 1e3}\r\n', {"a": {"b": [1, 2, 3]}}, None),
        ("a.json", b"{}", {"a": 1}, b'{\n  "a": 1\n}\n'),
        (
            "a.toml",
            TOML,
            {"links": [{"name": "Start"}, {"name": "Blog"}]},
            TOML.replace(b'"Home"', b'"Start"'),
        ),
        ("a.yaml", b"", {"a": "b"}, b"a: b\n"),
    ],
)
def test_edit_changes_the_values_alone(
    path: str, data: bytes, changes: dict[str, object], edited: bytes | None
) -> None:
    expected = edited or data.replace(b"[1, 2]", b"[1, 2, 3]")
    assert edit_data(path, data, changes) == expected
    values = read_data(path, expected)
    assert values is not None
    assert {key: values[key] for key in changes} == changes
    assert edit_data(path, expected, values) == expected


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.yaml", b"a: 1\n---\nb: 2\n"),
        ("a.yaml", b"[a, b\n"),
        ("a.yaml", b"text\n"),
        ("a.yaml", b"a: [\n"),
        ("a.json", b"1"),
        ("a.json", b'{"a": 1'),
        ("a.toml", b"a = \n"),
        ("a.json", b'{"a": "' + b"x" * 70_000 + b'"}'),
        ("a.md", b"---\na: 1\n---\n"),
        ("a.yaml", b"\xff\xfe"),
    ],
)
def test_file_that_is_no_editable_data_has_no_values(path: str, data: bytes) -> None:
    assert read_data(path, data) is None
    with pytest.raises(UnsupportedEdit):
        edit_data(path, data, {"a": 2})


def test_unset_key_is_removed_with_its_line() -> None:
    assert edit_data("a.yaml", YAML, {}, ["size"]) == YAML.replace(b"size: 010\n", b"")
