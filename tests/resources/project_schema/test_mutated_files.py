"""Mutated schema files over HTTP: each is a schema with problems, never a 5xx."""

import base64
import os

import pytest

from app.content.schema.model import SourceKind
from tests.content.schema.mutations import mutated
from tests.content.schema.samples import SAMPLES
from tests.resources.project_content.conftest import Site, make_site
from tests.support.world import World

pytestmark = pytest.mark.slow

PARTS, MUTATIONS = (20, 50) if os.environ.get("GALLEY_LONG") else (1, 40)
SEED = int(os.environ.get("GALLEY_SEED", "7"))
FOLDERS = ("content/posts", "content/blog", "src/posts", "data")
PAGE = "---\ntitle: 5\ndate: soon\ntags: [{}]\nkind: c\nseo: {image: 1}\n---\n"


class TestMutatedFiles:
    @pytest.mark.parametrize("part", range(PARTS))
    def test_schema_and_validated_save_answer_without_a_server_error(self, world: World, part: int) -> None:
        sites: dict[SourceKind, Site] = {}
        for number, (kind, path, data) in enumerate(mutated(MUTATIONS, SEED + part)):
            site = sites.get(kind)
            if site is None:
                site = sites[kind] = make_site(world, {path: SAMPLES[kind][1], "content/a.md": b"---\ntitle: A\n---\n"})
            text = base64.b64encode(data).decode()
            site.commit({"path": path, "action": "update", "content": text, "encoding": "base64"}).ok(201)
            schema = site.owner.get(f"/project/{site.project}/schema").ok()
            assert {"source", "collections", "problems"} == schema.keys()
            folder = next((each["folder"] for each in schema["collections"]), FOLDERS[number % len(FOLDERS)])
            page = {"path": f"{folder}/p-{number}.md".lstrip("/"), "action": "create", "content": PAGE}
            answer = site.commit(page, validate=True)
            assert answer.status in (201, 400, 409), (answer.status, data)
