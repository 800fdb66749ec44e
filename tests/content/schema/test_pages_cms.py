"""Collections of `.pages.yml`."""

from app.content.schema.model import ContentSchema, SourceKind
from app.content.schema.pages_cms import read_pages_cms
from tests.content.schema.samples import sample, types


def read(content: str) -> ContentSchema:
    schema = read_pages_cms(".pages.yml", f"content: [{content}]".encode())
    assert schema is not None
    assert schema.problems == ()
    return schema


class TestReadPagesCms:
    def test_pages_cms_fields_have_types(self) -> None:
        schema = sample(SourceKind.PAGES_CMS)
        posts, site = schema.collections
        assert types(schema) == {
            "title": "string",
            "at": "datetime",
            "tags": "list",
            "kind": "select",
            "seo": "object",
            "author": "relation",
        }
        assert (posts.pattern, posts.template.path if posts.template else "") == (
            "**/*.mdx",
            "{{year}}-{{month}}-{{slug}}.mdx",
        )
        assert posts.fields[4].fields[0].name == "noindex"
        assert (site.folder, site.pattern, types(schema, 1)) == ("data", "site.yml", {"body": "text"})

    def test_file_name_may_be_a_mapping_with_a_template(self) -> None:
        schema = read("{name: a, type: collection, path: a, filename: {template: '{slug}.json', field: false}}")
        template = schema.collections[0].template
        assert (schema.collections[0].pattern, template and template.path) == ("**/*.json", "{{slug}}.json")

    def test_entry_of_another_type_with_a_file_path_is_a_file(self) -> None:
        (page,) = read("{name: a, type: document, path: content/a.md}").collections
        assert (page.folder, page.pattern) == ("content", "a.md")

    def test_type_list_is_a_list(self) -> None:
        schema = read(
            "{name: a, type: file, path: a.yml, fields: [{name: x, type: list, fields: [{name: y}]}, {name: z, type: list}]}"
        )
        assert types(schema) == {"x": "list", "z": "list"}
        items = [field.item for field in schema.collections[0].fields]
        assert [str(item.type) for item in items if item is not None] == ["object", "string"]

    def test_empty_path_is_the_root(self) -> None:
        assert read("{name: a, type: collection, path: ''}").collections[0].folder == ""

    def test_file_without_content_has_no_schema(self) -> None:
        assert read_pages_cms(".pages.yml", b"media: public\n") is None
