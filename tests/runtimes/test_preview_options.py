"""Tests of the section `preview` of `.galley.yml`."""

import pytest

from app.runtimes.choose import RuntimeNotDetected, choose_recipe
from app.runtimes.recipe import PreviewAddress, Recipe

ADDRESS = PreviewAddress("http://label.preview.localhost:8000/", 8000)


def recipe(text: str, **files: str) -> Recipe:
    tree = {".galley.yml": text.encode()} | {name.replace("__", "/"): value.encode() for name, value in files.items()}
    return choose_recipe(tree, tree.get, ADDRESS)


def test_options_replace_every_detected_value() -> None:
    text = "preview: {root: site, install: [make deps, npm ci], command: \"make serve 'a b'\", port: 4000, env: {A: 1}}"
    result = recipe(text, hugo="")
    assert (result.folder, result.port, dict(result.environment)) == ("site", 4000, {"A": "1"})
    assert result.install == (("make", "deps"), ("npm", "ci"))
    assert result.serve == ("make", "serve", "a b")


def test_options_root_selects_the_folder() -> None:
    tree = {".galley.yml": b"preview: {root: b}", "a/hugo.toml": b"", "b/mkdocs.yml": b""}
    assert choose_recipe(tree, tree.get, ADDRESS).folder == "b"


def test_options_without_section_keep_the_detected_values() -> None:
    tree = {".galley.yml": b"other: 1", "index.html": b""}
    assert choose_recipe(tree, tree.get, ADDRESS).port is None


@pytest.mark.parametrize(
    ("section", "named"),
    [
        ("{root: ../x}", "preview.root"),
        ("{root: /etc/..}", "preview.root"),
        ("{port: 80}", "preview.port"),
        ("{port: yes}", "preview.port"),
        ("{command: []}", "preview.command"),
        ('{command: "a \'b"}', "preview.command"),
        ("{env: [a]}", "preview.env"),
        ("{env: {'a b': c}}", "preview.env"),
        ("{network: true}", "preview.network"),
        ("{build: []}", "preview.build"),
        ("{output: ../x}", "preview.output"),
        ("{output: 3}", "preview.output"),
        ("[a]", "preview"),
    ],
)
def test_options_invalid_value_is_named(section: str, named: str) -> None:
    tree = {".galley.yml": f"preview: {section}".encode(), "index.html": b""}
    with pytest.raises(RuntimeNotDetected, match=named):
        choose_recipe(tree, tree.get, ADDRESS)


def test_options_root_without_site_is_named() -> None:
    with pytest.raises(RuntimeNotDetected, match="“empty”"):
        recipe("preview: {root: empty}", index="")
