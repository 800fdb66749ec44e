"""Collections of `.galley.yml`."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from app.content.schema.galley import read_excluded, read_galley
from app.content.schema.model import SourceKind
from tests.content.schema.samples import GALLEY, sample

DOCS = Path(__file__).parents[3] / "docs"


class TestReadGalley:
    def test_galley_file_collection_equals_its_source(self) -> None:
        (collection,) = sample(SourceKind.GALLEY).to_dict()["collections"]
        source = yaml.safe_load(GALLEY)["collections"][0]
        assert collection == source | {
            "pattern": "**/*.md",
            "template": source["template"] | {"values": {"title": "New", "draft": True}},
        }

    def test_galley_file_fits_its_json_schema(self) -> None:
        schema = json.loads((DOCS / "galley.schema.json").read_text())
        validator = jsonschema_rs.Draft202012Validator(schema)
        assert [error.message for error in validator.iter_errors(yaml.safe_load(GALLEY))] == []
        for wrong in ({"folder": ""}, {"name": "a", "folder": "", "fields": [{"name": "b", "type": "select"}]}):
            assert list(validator.iter_errors({"collections": [wrong]}))

    def test_preview_section_fits_its_json_schema(self) -> None:
        validator = jsonschema_rs.Draft202012Validator(json.loads((DOCS / "galley.schema.json").read_text()))
        valid = {"root": "site", "command": "make", "build": ["make", "all"], "output": "public", "env": {"A": 1}}
        assert list(validator.iter_errors({"preview": valid | {"port": 4000, "install": [["npm", "ci"]]}})) == []
        for wrong in ({"build": []}, {"output": 3}, {"other": 1}, {"port": 80}):
            assert list(validator.iter_errors({"preview": wrong}))

    @pytest.mark.parametrize(
        ("form", "problems"), [("ascii", 0), ("unaccented", 0), ("unicode", 0), ("latin", 1), ("7", 1)]
    )
    def test_form_of_file_names_is_read(self, form: str, problems: int) -> None:
        text = f"collections: [{{name: pages, folder: '', template: {{slug: {form}}}, fields: []}}]"
        schema = read_galley(".galley.yml", text.encode())
        assert schema is not None
        assert [problem.pointer for problem in schema.problems] == ["/collections/0/template/slug"] * problems
        template = schema.collections[0].template
        assert template is not None
        assert str(template.slug) == ("unicode" if problems else form)
        validator = jsonschema_rs.Draft202012Validator(json.loads((DOCS / "galley.schema.json").read_text()))
        assert len(list(validator.iter_errors(yaml.safe_load(text)))) == problems

    def test_file_with_previews_only_has_no_schema(self) -> None:
        assert read_galley(".galley.yml", b"preview: {port: 4000}\n") is None

    def test_empty_folder_is_the_root(self) -> None:
        schema = read_galley(".galley.yml", b"collections: [{name: pages, folder: '', fields: []}]")
        assert schema is not None
        assert ([each.folder for each in schema.collections], schema.problems) == ([""], ())

    def test_relation_to_no_collection_is_a_problem(self) -> None:
        fields = "[{name: a, type: relation, collection: none}, {name: b, type: list, item: {type: relation}}]"
        schema = read_galley(".galley.yml", f"collections: [{{name: pages, folder: '', fields: {fields}}}]".encode())
        assert schema is not None
        assert {problem.pointer: problem.message for problem in schema.problems} == {
            "/collections/0/fields/0/collection": "There is no collection “none”",
            "/collections/0/fields/1/item/collection": "A relation needs a collection",
        }

    def test_missing_folder_is_a_problem(self) -> None:
        schema = read_galley(".galley.yml", b"collections: [{name: pages}]")
        assert schema is not None
        assert [problem.pointer for problem in schema.problems] == ["/collections/0/folder"]


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ("exclude: [generated, /dist/, ./a/b]", ("generated", "dist", "a/b")),
        ("exclude: ['../up', '', 5, {a: b}, ok]", ("ok",)),
        ("exclude: all", ()),
        ("preview: {}", ()),
        ("exclude: [", ()),
    ],
)
def test_excluded_folders_are_read(text: str, folders: tuple[str, ...]) -> None:
    assert read_excluded(".galley.yml", text.encode()) == folders
