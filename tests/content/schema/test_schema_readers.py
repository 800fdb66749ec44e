"""All readers of schema files: mutated files and limits."""

import json
import os
from typing import Any

import pytest

from app.content.schema.document import SchemaDocument
from app.content.schema.model import MAX_COLLECTIONS, SourceKind
from app.content.schema.validation import validate
from app.resources.project_content.schema.schema_sources import READERS
from tests.content.schema.mutations import VALUES, mutated

MUTATIONS = 1_000 if os.environ.get("GALLEY_LONG") else 100


class TestReaders:
    def test_deep_and_wide_files_are_bounded(self) -> None:
        deep: dict[str, Any] = {"name": "a", "type": "string"}
        for _ in range(40):
            deep = {"name": "a", "type": "object", "fields": [deep]}
        wide = [{"name": f"f{n}", "type": "string"} for n in range(3_000)]
        for fields in ([deep], wide):
            data = json.dumps({"collections": [{"name": "c", "folder": "c", "fields": fields}]}).encode()
            schema = READERS[SourceKind.GALLEY](".galley.yml", data)
            assert schema is not None
            assert schema.problems
        assert SchemaDocument(".pages.yml", b"x" * 300_000).problems

    def test_patterns_of_a_file_are_bounded(self) -> None:
        fields = [{"name": f"f{n}", "type": "string", "pattern": f"^(.?){{250}}{n}$"} for n in range(1_000)]
        collections = [{"name": "c", "folder": "c", "fields": fields}]
        document = SchemaDocument(".galley.yml", json.dumps({"collections": collections}).encode())
        patterns = [document.pattern(field["pattern"], f"/{field['name']}") for field in fields]
        assert 0 < len([pattern for pattern in patterns if pattern is not None]) < 50
        assert "too many patterns" in document.problems[0].message

    @pytest.mark.parametrize(
        ("kind", "values"),
        [
            (SourceKind.DECAP, {"i18n": {"structure": "multiple_root_folders", "locales": [f"l{n}" for n in range(50)]},
                "collections": [{"name": f"c{n}", "folder": "c", "i18n": True} for n in range(5)]}),
            (SourceKind.FRONT_MATTER, {
                "frontMatter.taxonomy.contentTypes": [{"name": f"t{n}"} for n in range(50)],
                "frontMatter.content.pageFolders": [{"title": f"f{n}", "path": "a"} for n in range(5)]}),
            (SourceKind.PAGES_CMS, {"content": [
                {"type": "group", "items": [{"name": f"c{n}-{k}", "path": "a"} for k in range(150)]} for n in range(2)
            ]}),
        ],
    )  # fmt: skip
    def test_further_collections_are_a_problem(self, kind: SourceKind, values: dict[str, Any]) -> None:
        schema = READERS[kind]("config.json", json.dumps(values).encode())
        assert schema is not None
        assert len(schema.collections) == MAX_COLLECTIONS
        assert schema.problems[-1].message == f"Only the first {MAX_COLLECTIONS} collections are read"

    def test_mutated_files_never_raise(self) -> None:
        for kind, path, data in mutated(MUTATIONS, seed=int(os.environ.get("GALLEY_SEED", "7"))):
            schema = READERS[kind](path, data)
            if schema is None:
                continue
            json.dumps(schema.to_dict())
            for collection in schema.collections:
                for value in VALUES:
                    validate(schema, collection, {field.name: value for field in collection.fields})
