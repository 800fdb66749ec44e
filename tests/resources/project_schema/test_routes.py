"""Tests of the schemas of a branch: source files by precedence, inference, adoption and validation of saves."""

import json
from typing import Any

import pytest
import yaml

from tests.resources.project_content.conftest import Site, make_site
from tests.support.assertions.statements import counted
from tests.support.world import World

GALLEY = b"""\
preview: {command: hugo server}
# Kept
collections:
  - name: posts
    folder: content/posts
    pattern: "*.md"
    fields:
      - {name: title, type: string, required: true}
      - {name: date, type: date}
      - {name: state, type: select, options: [draft, final]}
      - {name: seo, type: object, fields: [{name: rank/x, type: number}]}
      - {name: tags, type: list, item: {type: string}}
"""
DECAP = b"""\
backend: {name: git-gateway}
collections:
  - {name: blog, folder: content/blog, create: true, fields: [{name: title, widget: string}, {name: body, widget: markdown}]}
"""
POST = "---\ntitle: {n}x\ndate: 2026-01-{d:02}\nstate: {state}\ntags: [a]\nmixed: {mixed}\nimage: /i/{n}.png\nseo: {{rank: {n}}}\n---\n"
PAGES = {
    f"content/posts/2026-01-{n + 1:02}-p.md": POST.format(
        n=n, d=n + 1, state="draft" if n % 2 else "Final", mixed=n if n % 2 else "text"
    ).encode()
    for n in range(24)
}


def schema_of(site: Site, **query: Any) -> Any:
    return site.owner.get(f"/project/{site.project}/schema", query_string=query).ok()


def by_name(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in items}


class TestReadSchema:
    def test_first_existing_file_is_the_source(self, world: World) -> None:
        files = {
            "content/posts/a.md": PAGES["content/posts/2026-01-01-p.md"],
            ".galley.yml": b"preview: {port: 4000}\n",
            "static/admin/config.yml": DECAP,
            ".pages.yml": b"content: [{name: a, type: collection, path: content/a, fields: [{name: t, type: string}]}]",
            "frontmatter.json": b'{"frontMatter.content.pageFolders": [{"title": "b", "path": "[[workspace]]/content/b"}]}',
            "archetypes/posts.md": b'+++\ntitle = "{{ replace .Name "-" " " | title }}"\ndraft = true\n+++\n',
        }
        site = make_site(world, files)
        expected = [
            ("decap", "static/admin/config.yml", "blog"),
            ("pages_cms", ".pages.yml", "a"),
            ("front_matter", "frontmatter.json", "b"),
            ("archetypes", "archetypes", "content-posts"),
            ("inferred", None, "content-posts"),
        ]
        for kind, path, name in expected:
            schema = schema_of(site)
            assert (schema["source"], schema["collections"][0]["name"]) == ({"kind": kind, "path": path}, name)
            assert schema["problems"] == []
            if path is not None:
                gone = path if path != "archetypes" else "archetypes/posts.md"
                site.commit({"path": gone, "action": "delete"}).ok(201)
                world.work_off()

    def test_second_read_of_a_commit_searches_no_files(self, world: World) -> None:
        site = make_site(world, PAGES)
        first = schema_of(site)
        with counted(world.app) as statements:
            assert schema_of(site) == first
        assert [statement for statement in statements if "content_files" in statement] == []
        site.commit({"path": ".galley.yml", "action": "create", "content": GALLEY.decode()}).ok(201)
        assert schema_of(site)["source"]["path"] == ".galley.yml"

    def test_archetype_is_the_template_of_a_collection(self, world: World) -> None:
        archetype = (
            b'---\ntitle: "{{ replace .Name "-" " " | title }}"\ndate: {{ .Date }}\ndraft: true\n---\n\nWrite.\n'
        )
        site = make_site(world, PAGES | {"archetypes/default.md": archetype})
        collection = schema_of(site)["collections"][0]
        assert collection["template"] == {
            "path": "{{year}}-{{month}}-{{day}}-{{slug}}.md",
            "values": {"title": "{{title}}", "date": "{{date}}", "draft": True},
            "body": "\nWrite.\n",
        }
        assert by_name(collection["fields"])["draft"]["default"] is True

    def test_fields_are_inferred_with_their_types(self, world: World) -> None:
        site = make_site(world, PAGES | {"content/posts/last.md": b"---\ntitle: x\n---\n", "README.md": b"# Read\n"})
        (collection,) = schema_of(site)["collections"]
        assert (collection["folder"], collection["pattern"]) == ("content/posts", "**/*.md")
        fields = by_name(collection["fields"])
        assert {name: field["type"] for name, field in fields.items()} == {
            "title": "string",
            "date": "date",
            "state": "select",
            "tags": "list",
            "mixed": "mixed",
            "image": "image",
            "seo": "object",
        }
        assert fields["state"]["options"] == ["Final", "draft"]
        assert fields["mixed"]["types"] == ["number", "string"]
        assert fields["title"]["required"] is True
        assert "required" in fields["date"]
        assert fields["tags"]["item"]["type"] == "string"
        assert by_name(fields["seo"]["fields"])["rank"]["type"] == "number"

    @pytest.mark.one_database
    def test_invalid_files_are_problems_with_status_200(self, world: World) -> None:
        site = make_site(world, {".galley.yml": b"collections: [{", "content/a.md": b"---\ntitle: a\n---\n"})
        broken = (b"collections: 5", b"\xff\xfe\x00", b"[]", b"collections: [{name: [], folder: ../x}]", b"a: &a [*a]")
        for data in broken:
            schema = schema_of(site)
            assert schema["source"] == {"kind": "galley", "path": ".galley.yml"}
            assert schema["collections"] == []
            assert schema["problems"]
            site.repo.commit({".galley.yml": data})
            site.owner.post(site.path("/reindex")).ok(202)
            world.work_off()
        assert schema_of(site)["problems"]

    @pytest.mark.one_database
    def test_nonmember_returns_403_and_unknown_branch_404(self, site: Site) -> None:
        url = f"/project/{site.project}/schema"
        site.world.person().get(url).fails(403)
        site.world.person().post(f"{url}/adopt", {}).fails(403)
        site.owner.get(f"{url}?ref=none").fails(404)


class TestAdoptSchema:
    def test_inferred_schema_is_committed_and_read_from_the_file(self, world: World) -> None:
        site = make_site(world, PAGES | {".galley.yml": b"# Mine\npreview: {port: 4000}\n"})
        before = schema_of(site)
        saved = site.owner.post(f"/project/{site.project}/schema/adopt", {"message": "Adopt"}).ok(201)
        assert saved["commit_sha"] == site.repo.head()
        text = site.repo.git("show", "main:.galley.yml").decode()
        assert text.startswith("# Mine\npreview: {port: 4000}\n\ncollections:\n")
        assert yaml.safe_load(text)["preview"] == {"port": 4000}
        after = schema_of(site)
        assert after["source"] == {"kind": "galley", "path": ".galley.yml"}
        assert after["collections"] == before["collections"]
        assert after["problems"] == []
        again = site.owner.post(f"/project/{site.project}/schema/adopt", {}).ok(200)
        assert (again["commit_sha"], again["files"]) == (saved["commit_sha"], [])

    @pytest.mark.one_database
    def test_branch_without_a_collection_returns_422(self, world: World) -> None:
        site = make_site(world, {"a.txt": b"x"})
        site.owner.post(f"/project/{site.project}/schema/adopt", {}).fails(422, "NOTHING_TO_ADOPT")

    def test_changed_file_returns_409(self, world: World) -> None:
        site = make_site(world, PAGES)
        base = site.repo.head()
        site.repo.commit({".galley.yml": GALLEY})
        site.owner.post(f"/project/{site.project}/schema/adopt", {}).fails(409, "SCHEMA_EXISTS")
        site.owner.post(f"/project/{site.project}/schema/adopt", {"base_sha": base}).fails(
            409, "CONFLICT", ".galley.yml"
        )


class TestValidate:
    @pytest.mark.one_database
    def test_invalid_fields_return_400_with_paths_and_without_a_commit(self, world: World) -> None:
        site = make_site(world, {".galley.yml": GALLEY, "content/posts/a.md": b"---\ntitle: A\n---\n"})
        text = "---\ndate: soon\nstate: other\nseo: {rank/x: many}\ntags: [{}, b]\n---\n"
        files = [
            {"path": "notes.md", "action": "create", "content": "---\ntitle: 5\n---\n"},
            {"path": "content/posts/b.md", "action": "create", "content": text},
        ]
        head = site.repo.head()
        invalid = ["title", "date", "state", "seo/rank~1x", "tags/0"]
        response = site.commit(*files, validate=True)
        response.fails(400, "VALIDATION_FAILED", *(f"files.1/{name}" for name in invalid))
        listed = [(item["file"], item["pointer"]) for item in response.json["result"]["invalid"]]
        assert listed == [("content/posts/b.md", f"/{name}") for name in invalid]
        edit = {
            "file": "content/posts/a.md",
            "base_sha": head,
            "set": {"date": 5},
            "unset": ["title"],
            "validate": True,
        }
        site.owner.patch(site.path("/front-matter"), edit).fails(400, "VALIDATION_FAILED", "/title", "/date")
        assert site.repo.head() == head
        site.owner.patch(site.path("/front-matter"), edit | {"set": {"date": "2026-01-01"}, "unset": []}).ok()
        site.commit(*files, base=site.repo.head()).ok(201)

    def test_saved_values_are_compared_with_the_collection_of_their_filter(self, world: World) -> None:
        news = {"name": "news", "folder": "posts", "filter": {"field": "kind", "value": "news"}}
        title = {"name": "title", "pattern": ["^[A-Z]", "Start with a capital letter"]}
        talks = {"name": "talks", "folder": "posts", "filter": {"field": "kind", "value": "talk"}}
        collections = [news | {"fields": [title]}, talks | {"fields": [{"name": "place"}]}]
        config = json.dumps({"backend": {"name": "github"}, "collections": collections})
        site = make_site(world, {"public/admin/config.json": config.encode()})
        assert schema_of(site)["source"] == {"kind": "decap", "path": "public/admin/config.json"}
        texts = ["kind: news\ntitle: small", "kind: talk\ntitle: small", "kind: talk\nplace: here"]
        files = [
            {"path": f"posts/{n}.md", "action": "create", "content": f"---\n{text}\n---\n"}
            for n, text in enumerate(texts)
        ]
        response = site.commit(*files, validate=True)
        response.fails(400, "VALIDATION_FAILED", "files.0/title", "files.1/place")
        message = "This does not have the required form: Start with a capital letter"
        assert response.json["result"]["invalid"][0]["message"] == message

    def test_unreadable_front_matter_is_an_error_of_the_file(self, world: World) -> None:
        site = make_site(world, {".galley.yml": GALLEY})
        file = {"path": "content/posts/b.md", "action": "create", "content": "---\n: [\n---\n"}
        site.commit(file, validate=True).fails(400, "VALIDATION_FAILED", "files.0")
        site.commit(file, validate="yes").fails(400, "VALIDATION_FAILED", "validate")

    def test_file_that_is_a_list_is_compared_with_the_fields_of_its_items(self, world: World) -> None:
        team = (
            "content: [{name: team, type: file, path: data/team.yml, list: true, fields: [{name: age, type: number}]}]"
        )
        site = make_site(world, {".pages.yml": team.encode(), "data/team.yml": b"- age: 1\n"})
        file = {"path": "data/team.yml", "action": "update", "content": "- age: 2\n- age: old\n"}
        site.commit(file, base=site.repo.head(), validate=True).fails(400, "VALIDATION_FAILED", "files.0/items/1/age")
        valid = file | {"content": "- age: 2\n- age: 3\n"}
        site.commit(valid, base=site.repo.head(), validate=True).ok(201)
