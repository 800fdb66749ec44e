"""All readers of schema files: mutated files and limits."""

import json
import os
from typing import Any

from app.content.schema.document import SchemaDocument
from app.content.schema.model import SourceKind
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

    def test_mutated_files_never_raise(self) -> None:
        for kind, path, data in mutated(MUTATIONS, seed=int(os.environ.get("GALLEY_SEED", "7"))):
            schema = READERS[kind](path, data)
            if schema is None:
                continue
            json.dumps(schema.to_dict())
            for collection in schema.collections:
                for value in VALUES:
                    validate(schema, collection, {field.name: value for field in collection.fields})
