"""The section that an adoption writes to `.galley.yml`."""

from app.content.schema.galley import read_galley
from app.resources.project_content.schema.schema_sources import READERS
from app.resources.project_schema.actions import galley_section
from tests.content.schema.mutations import mutated


class TestGalleySection:
    def test_section_reads_as_the_same_collections(self) -> None:
        for kind, path, data in mutated(200, seed=8):
            schema = READERS[kind](path, data)
            if schema is None or not schema.collections:
                continue
            adopted = read_galley(".galley.yml", galley_section(schema).encode())
            assert adopted is not None
            assert adopted.to_dict()["collections"] == schema.to_dict()["collections"]
            relations = [problem for problem in adopted.problems if problem.pointer.endswith("/collection")]
            assert adopted.problems == tuple(relations)
