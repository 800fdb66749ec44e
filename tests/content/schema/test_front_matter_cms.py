"""Collections of `frontmatter.json`."""

import json

import pytest

from app.content.schema.front_matter_cms import PAGE_FOLDERS, read_front_matter_cms
from app.content.schema.model import SourceKind
from tests.content.schema.samples import sample, types


class TestReadFrontMatterCms:
    def test_front_matter_cms_fields_have_types(self) -> None:
        schema = sample(SourceKind.FRONT_MATTER)
        assert types(schema) == {
            "title": "string",
            "date": "datetime",
            "kind": "select",
            "tags": "list",
            "images": "list",
            "seo": "object",
        }
        assert [collection.folder for collection in schema.collections] == ["content/posts", "content"]
        assert types(schema, 1)["draft"] == "boolean"

    @pytest.mark.parametrize("path", ["content/{{year}}/{{month}}", "content/*/posts", "content/y-{{year}}"])
    def test_folder_ends_before_a_placeholder(self, path: str) -> None:
        data = json.dumps({PAGE_FOLDERS: [{"title": "Posts", "path": f"[[workspace]]/{path}"}]}).encode()
        schema = read_front_matter_cms("frontmatter.json", data)
        assert schema is not None
        assert [each.folder for each in schema.collections] == ["content"]

    def test_file_without_page_folders_has_no_schema(self) -> None:
        data = b'{"frontMatter.taxonomy.contentTypes": [{"name": "post", "fields": []}]}'
        assert read_front_matter_cms("frontmatter.json", data) is None
