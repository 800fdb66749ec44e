"""Addresses of images in pages, and the folders for new ones."""

from dataclasses import replace

import pytest

from app.content.image_types import is_image, is_image_content
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField, SourceKind
from app.content.site_roots import MediaFolder, SiteRoots
from app.models.project import Generator
from app.resources.project_content.images import (
    address_of,
    candidates,
    field_at,
    known_folders,
    shared_folder,
    upload_folder,
)

pytestmark = pytest.mark.one_database

PAGE = "content/posts/2026/tides.md"
ASTRO = MediaFolder("src/assets", "~/assets/")
ANY = SiteRoots()


def image_field(name: str = "cover", folder: str | None = None, address: str | None = None) -> SchemaField:
    return SchemaField(name, FieldType.IMAGE, media_folder=folder, public_folder=address)


def collection(*fields: SchemaField, folder: str | None = None, address: str | None = None) -> Collection:
    return Collection("posts", "content/posts", "**/*.md", fields, media_folder=folder, public_folder=address)


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        ("/img/a.png", ["static/img/a.png", "public/img/a.png", "img/a.png"]),
        ("a%20b.png?x=1", ["content/posts/a b.png", "static/a b.png", "public/a b.png", "a b.png"]),
        ("../a.png", ["content/a.png"]),
        ("https://other.example/a.png", []),
        ("//other.example/a.png", []),
        ("data:image/png;base64,", []),
        ("", []),
    ],
)
def test_address_names_files_of_the_repository(source: str, paths: list[str]) -> None:
    assert candidates(ANY, source, "content/posts/first.md") == paths


@pytest.mark.parametrize(
    ("generator", "image", "page", "expected"),
    [
        (None, "static/img/a.png", "content/a.md", "/img/a.png"),
        (None, "content/a.png", "content/a.md", "a.png"),
        (None, "covers/a.png", "posts/a.md", "../covers/a.png"),
        (Generator.DOCUSAURUS, "blog/b/b.png", "blog/a/index.md", "../b/b.png"),
        (Generator.DOCUSAURUS, "blog/b/b.png", "README.md", "blog/b/b.png"),
        (Generator.MKDOCS, "docs/img/a.png", "docs/guide/a.md", "../img/a.png"),
        (Generator.HUGO, "static/img/a.png", "content/posts/a.md", "/img/a.png"),
        (Generator.HUGO, "assets/img/a.png", "content/posts/a.md", "/img/a.png"),
        (Generator.HUGO, "content/posts/b/b.png", "content/posts/a/index.md", "../b/b.png"),
        (Generator.HUGO, "content/posts/a/a.png", "content/posts/a/index.md", "a.png"),
        (Generator.HUGO, "content/posts/b/b.png", "content/posts/a.md", "/posts/b/b.png"),
        (Generator.HUGO, "content/posts/a.png", "content/posts/a.md", "/posts/a.png"),
        (Generator.JEKYLL, "assets/a.png", "_posts/2024-01-01-a.md", "/assets/a.png"),
        (Generator.JEKYLL, "_posts/img/a.png", "_posts/2024-01-01-a.md", "img/a.png"),
    ],
)
def test_address_of_an_image_exists_in_the_site_and_names_its_file(
    generator: Generator | None, image: str, page: str, expected: str
) -> None:
    site = SiteRoots(generator)
    folders = known_folders(site, None, page)
    assert address_of(site, image, page, folders) == expected
    assert image in candidates(site, expected, page, folders)
    assert image == candidates(site, expected, page, folders)[0] or not image.startswith("static/")
    assert is_image(image)
    assert not is_image(page)


@pytest.mark.parametrize(
    ("site", "folder"),
    [
        (SiteRoots("hugo"), "static"),
        (SiteRoots("astro"), "public"),
        (SiteRoots("astro", ("apps/web",)), "apps/web/public"),
        (SiteRoots("hugo", media="assets/img"), "assets/img"),
        (SiteRoots("mkdocs"), ""),
        (ANY, ""),
    ],
)
def test_media_folder_is_that_of_the_settings_or_of_the_generator(site: SiteRoots, folder: str) -> None:
    assert site.media_folder("") == shared_folder(site, ContentSchema(SourceKind.INFERRED, None)) == folder


def test_image_of_no_page_is_in_the_folder_that_all_collections_name() -> None:
    schemas = [
        ContentSchema(SourceKind.DECAP, "admin/config.yml", tuple(collection(folder=folder) for folder in folders))
        for folders in (("site/static/img", "./", "site/static/img"), ("covers", "banners"))
    ]
    site = SiteRoots("hugo", ("site",))
    assert [shared_folder(site, schema) for schema in schemas] == ["site/static/img", "site/static"]
    assert shared_folder(replace(site, media="photos"), schemas[0]) == "photos"


@pytest.mark.parametrize(
    ("field", "page_collection", "expected"),
    [
        (None, None, MediaFolder("static", "/")),
        (None, collection(folder="static/posts"), MediaFolder("static/posts", "/posts/")),
        (None, collection(folder="/assets/img/", address="/img"), MediaFolder("assets/img", "/img/")),
        (None, collection(folder="src/assets", address="~/assets/"), MediaFolder("src/assets", "~/assets/")),
        (None, collection(folder="./"), MediaFolder("content/posts/2026", "")),
        (None, collection(folder="./img"), MediaFolder("content/posts/2026/img", "img/")),
        (None, collection(folder="./../img", address="../img"), MediaFolder("content/posts/img", "../img/")),
        (None, collection(folder="static", address=""), MediaFolder("static", "")),
        (None, collection(folder="../outside"), MediaFolder("static", "/")),
        (None, collection(folder=".git/hooks"), MediaFolder("static", "/")),
        (None, collection(folder="a\nb"), MediaFolder("static", "/")),
        (None, collection(folder="a" * 400), MediaFolder("static", "/")),
        (None, collection(folder="static/{{slug}}"), MediaFolder("static", "/")),
        (
            image_field(folder="covers"),
            collection(folder="static/posts", address="/p"),
            MediaFolder("covers", "/covers/"),
        ),
        (
            image_field(address="/c"),
            collection(folder="static/posts", address="/p"),
            MediaFolder("static/posts", "/c/"),
        ),
        (image_field(), collection(folder="static/posts", address="/p"), MediaFolder("static/posts", "/p/")),
        (image_field(address="/c"), collection(), MediaFolder("static", "/c/")),
    ],
)
def test_upload_folder_is_that_of_the_field_the_collection_or_the_project(
    field: SchemaField | None, page_collection: Collection | None, expected: MediaFolder
) -> None:
    assert upload_folder(SiteRoots(Generator.HUGO), PAGE, field, page_collection) == expected


def test_upload_folder_without_a_media_folder_is_that_of_the_page() -> None:
    assert upload_folder(ANY, PAGE, None, None) == MediaFolder("content/posts/2026", "")
    assert upload_folder(ANY, "index.md", None, None) == MediaFolder("", "")


def test_field_of_an_input_is_found_in_objects_lists_and_variants() -> None:
    photo, banner = image_field("photo", "people"), image_field("banner", "banners")
    gallery = SchemaField("gallery", FieldType.LIST, item=image_field("", "gallery"))
    people = SchemaField("people", FieldType.LIST, item=SchemaField("", FieldType.OBJECT, fields=(photo,)))
    block = SchemaField("block", FieldType.OBJECT, variants=(SchemaField("hero", FieldType.OBJECT, fields=(banner,)),))
    fields = (gallery, people, block)
    assert field_at(fields, ("gallery",)) is gallery.item
    assert field_at(fields, ("people", "n0", "photo")) is photo
    assert field_at(fields, ("block", "banner")) is banner
    assert field_at(fields, ("people", "0", "unknown")) is None
    declared = known_folders(ANY, collection(*fields), PAGE)
    assert [one.folder for one in declared] == ["gallery", "people", "banners", "static", "public"]


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("pier #3.png", "/pier %233.png"),
        ("is it?.png", "/is it%3F.png"),
        ("pier (1).png", "/pier (1).png"),
        ("%41.png", "/%2541.png"),
        ("100%.png", "/100%.png"),
    ],
)
def test_address_of_any_name_names_its_file(name: str, address: str) -> None:
    assert address_of(ANY, f"static/{name}", PAGE, ()) == address
    assert f"static/{name}" in candidates(ANY, address, PAGE)
    assert (f"static/{name}" in candidates(ANY, f"/{name}", PAGE)) is (name != "%41.png")


def test_declared_address_and_file_name_each_other() -> None:
    assert candidates(ANY, "~/assets/img/a.png", PAGE, [ASTRO])[0] == "src/assets/img/a.png"
    assert address_of(ANY, "src/assets/img/a.png", PAGE, [ASTRO]) == "~/assets/img/a.png"
    assert address_of(ANY, "static/a.png", PAGE, [ASTRO]) == "/a.png"


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n", True),
        ("a.jpg", b"RIFF\0\0\0\0WEBP", True),
        ("a.avif", b"\0\0\0\x1cftypavif", True),
        ("a.svg", b'<?xml version="1.0"?>\n<SVG xmlns="', True),
        ("a.svg", b"\x89PNG\r\n\x1a\n", False),
        ("a.png", b"<html>", False),
        ("a.png", b"", False),
    ],
)
def test_image_is_recognized_by_ending_and_first_bytes(name: str, head: bytes, expected: bool) -> None:
    assert is_image_content(name, head) == expected
