"""The files of an entry, and the paths that it can have."""

import time
from collections.abc import Collection

import pytest

from app.content.entry_files import (
    EntryFiles,
    FolderNames,
    MoveProblem,
    address_parts,
    copy_path,
    entry_files,
    folder_of_index,
    is_page,
    move_problem,
    outermost,
    own_addresses,
    path_of_parts,
)

POST = "content/blog/post/index.md"
PICTURES = ("content/blog/post/a.png", "content/blog/post/img/b.jpg")
SITE = (
    "content/_index.md",
    "content/blog/_index.md",
    "content/blog/2025/one.md",
    "content/blog/2025/two.md",
    POST,
    *PICTURES,
    "content/blog/plain.md",
    "data/authors/jo.yaml",
)


def entry(path: str, files: Collection[str] = SITE, generator: str | None = "hugo") -> EntryFiles:
    folder = folder_of_index(path)
    below = [file for file in files if folder is not None and file.startswith(f"{folder}/")]
    return entry_files(path, below, generator)


def problem(path: str, new: str, files: Collection[str] = SITE, generator: str | None = "hugo") -> MoveProblem | None:
    def names(folder: str) -> FolderNames:
        start = f"{folder}/" if folder else ""
        parts = [file[len(start) :].partition("/") for file in files if file.startswith(start)]
        return FolderNames(*(frozenset(name for name, slash, _ in parts if slash == kind) for kind in ("", "/")))

    return move_problem(entry(path, files, generator), new, names, generator)


@pytest.mark.parametrize(
    "path",
    [
        POST,
        "content/blog/post/index.de.md",
        "src/content/blog/post/index.mdx",
        "src/posts/post/index.njk",
        "site/content/about/index.html",
        "content/blog/_index.md",
        "content/de/blog/_index.md",
        "content/ai/index.md",
        "content/static/index.md",
    ],
)
def test_index_page_names_its_folder(path: str) -> None:
    assert folder_of_index(path) == path.rpartition("/")[0]


@pytest.mark.parametrize(
    "path",
    [
        "index.md",
        "content/_index.md",
        "site/content/_index.md",
        "docs/index.md",
        "src/pages/index.astro",
        "content/blog/plain.md",
        "content/blog/indexes.md",
        "content/blog/post/index.json",
        "content/de/_index.md",
        "content.de/_index.md",
        "docs/pt-BR/_index.md",
        "layouts/index.html",
        "site/layouts/index.html",
        "static/admin/index.html",
        "src/_includes/_index.njk",
        "content/blog/post/index.png",
    ],
)
def test_other_files_and_start_pages_are_no_folder(path: str) -> None:
    assert folder_of_index(path) is None
    assert entry(path).files == (path,)


def test_bundle_contains_its_pictures() -> None:
    bundle = entry(POST)
    assert (bundle.address, set(bundle.files)) == ("content/blog/post", {POST, *PICTURES})
    assert (bundle.attachments, bundle.other_pages) == (PICTURES, ())
    assert bundle.deleted_with(frozenset()) == bundle


def test_section_contains_its_pages() -> None:
    section = entry("content/blog/_index.md")
    assert len(section.files) == len([path for path in SITE if path.startswith("content/blog/")])
    assert set(section.other_pages) == {
        "content/blog/2025/one.md",
        "content/blog/2025/two.md",
        POST,
        "content/blog/plain.md",
    }
    assert section.attachments == PICTURES


@pytest.mark.parametrize(
    ("generator", "is_folder"), [("hugo", True), ("astro", False), ("eleventy", False), (None, False)]
)
def test_folder_with_other_pages_is_an_entry_in_hugo_only(generator: str, is_folder: bool) -> None:
    files = ["src/docs/guide/index.md", "src/docs/guide/part.md", "src/docs/guide/a.png"]
    assert (entry(files[0], files, generator).folder is not None) == is_folder


@pytest.mark.parametrize("generator", ["hugo", "astro", None])
def test_languages_of_a_page_are_one_entry(generator: str | None) -> None:
    files = ["posts/a/index.md", "posts/a/index.de.md", "posts/a/x.png"]
    page = entry(files[0], files, generator)
    assert (page.address, page.translations) == ("posts/a", ("posts/a/index.de.md",))
    assert page.deleted_with(frozenset()).files == (files[0],)
    assert page.deleted_with(frozenset(files[:2])).files == tuple(sorted(files))
    assert page.moves_to("posts/b/index.md") == {path: path.replace("/a/", "/b/") for path in files}


def test_move_keeps_the_paths_in_the_folder() -> None:
    bundle = entry(POST)
    assert bundle.page_in("content/news") == "content/news/post/index.md"
    assert bundle.page_in("") == "post/index.md"
    assert (
        bundle.page_at("content/blog/new") == bundle.page_at("content/blog/new/index.md") == "content/blog/new/index.md"
    )
    assert bundle.moves_to("content/news/post/index.md")["content/blog/post/img/b.jpg"] == "content/news/post/img/b.jpg"
    assert entry("content/blog/plain.md").page_in("content/news") == "content/news/plain.md"


def test_page_of_a_folder_receives_another_ending() -> None:
    bundle = entry(POST)
    same = bundle.page_at("content/blog/post/index.mdx")
    assert bundle.moves_to(same) == {POST: "content/blog/post/index.mdx"}
    assert bundle.page_at("content/news/post/index.mdx") == "content/news/post/index.mdx"


@pytest.mark.parametrize("name", ["v1.2", "2025.01.02", "guide"])
def test_index_page_does_not_hide_pages_of_a_folder_with_a_dot(name: str) -> None:
    site = ["content/blog/plain.md", f"content/blog/part/{name}/one.md"]
    assert problem("content/blog/plain.md", "content/blog/part/index.md", site) == MoveProblem.OTHER_PAGES


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("slug", "pier", "pier-2"),
        ("url", "/harbour/pier/", "/harbour/pier-2/"),
        ("url", "pier.html", "pier-2.html"),
        ("permalink", "/v1.2", "/v1.2-2"),
        ("id", "pier", "pier-2"),
        ("url", "/", None),
        ("permalink", "/blog/{{ page.fileSlug }}/", None),
        ("permalink", "/:year/:title/", None),
        ("permalink", False, None),
        ("title", "Pier", None),
    ],
)
def test_copy_of_a_page_has_an_address_of_its_own(field: str, value: object, expected: str | None) -> None:
    assert own_addresses({field: value}, 2) == ({field: expected} if expected is not None else {})


def test_many_paths_in_a_large_folder_are_compared_fast() -> None:
    names = FolderNames(frozenset(f"{number}.md" for number in range(10_000)))
    start = time.process_time()
    for number in range(1_000):
        page = EntryFiles(path := f"content/blog/p{number}.md", None, (path,))
        assert move_problem(page, f"content/news/p{number}.md", lambda _folder: names, "hugo") is None
    assert time.process_time() - start < 1


def test_file_in_a_selected_folder_is_part_of_it() -> None:
    entries = [entry(POST), entry(PICTURES[0]), entry("content/blog/plain.md")]
    assert [page.page for page in outermost(entries)] == [POST, "content/blog/plain.md"]


@pytest.mark.parametrize(
    ("path", "new", "expected"),
    [
        (POST, "content/blog/2025/post/index.md", None),
        (POST, "content/blog/other/index.md", None),
        ("content/blog/plain.md", "content/blog/2025/plain.md", None),
        ("content/blog/plain.md", "content/blog/post/plain.md", MoveProblem.IN_ENTRY),
        ("content/blog/plain.md", "content/blog/post/img/plain.md", MoveProblem.IN_ENTRY),
        ("content/blog/2025/one.md", "content/blog/2025/index.md", MoveProblem.OTHER_PAGES),
        ("content/blog/2025/one.md", "content/blog/index.md", MoveProblem.OTHER_PAGES),
        (POST, "content/blog/2025/index.md", MoveProblem.EXISTS),
        (POST, "content/blog/post/deeper/index.md", MoveProblem.IN_ENTRY),
        (POST, "content/blog/post.md", MoveProblem.NEEDS_FOLDER),
        ("content/_index.md", "content/blog/2025/_index.md", MoveProblem.START_PAGE),
        ("content/blog/plain.md", "data/plain.md", MoveProblem.NO_PAGES),
        ("content/blog/plain.md", "static/plain.md", MoveProblem.NO_PAGES),
        (PICTURES[0], "content/blog/2025/a.png", None),
        (PICTURES[0], "static/a.png", None),
        ("data/authors/jo.yaml", "data/people/jo.yaml", None),
    ],
)
def test_move_that_would_hide_pages_is_named(path: str, new: str, expected: MoveProblem | None) -> None:
    assert problem(path, new) == expected


def test_bundle_without_other_files_can_become_a_plain_page() -> None:
    files = ["content/blog/about/index.md", "content/blog/plain.md"]
    assert problem(files[0], "content/blog/about.md", files) is None
    assert entry(files[0], files).moves_to("content/blog/about.md") == {files[0]: "content/blog/about.md"}


def test_page_next_to_an_index_page_stays_a_page_in_other_generators() -> None:
    assert problem("content/blog/plain.md", "content/blog/post/plain.md", generator="astro") is None


def test_pages_are_known_by_their_ending() -> None:
    assert [is_page(name) for name in ("a.md", "a.html", "a.adoc", "a.png", "a.yaml", "a")] == [True] * 3 + [False] * 3


def test_data_of_a_folder_follow_its_name() -> None:
    names = ("index.md", "post.11tydata.js", "img/post.11tydata.js", "poster.png")
    files = tuple(f"posts/post/{name}" for name in names)
    moved = EntryFiles(files[0], "posts/post", files).moves_to("posts/pier/index.md")
    new = ("index.md", "pier.11tydata.js", "img/post.11tydata.js", "poster.png")
    assert list(moved.values()) == [f"posts/pier/{name}" for name in new]


class TestPagesWithTheNameOfTheirFolder:
    PIER = ("src/posts/pier/a.png", "src/posts/pier/img/b.jpg", "src/posts/pier/pier.json", "src/posts/pier/pier.md")

    @pytest.mark.parametrize(
        ("path", "folder"),
        [
            ("src/posts/pier/pier.md", "src/posts/pier"),
            ("src/posts/pier/pier.de.md", "src/posts/pier"),
            ("posts/v1.2/v1.2.md", "posts/v1.2"),
            ("about/about.mdx", "about"),
            ("src/posts/pier/harbour.md", None),
            ("src/posts/pier/pier-2.md", None),
            ("src/cards/card/card.njk", None),
            ("src/_includes/card/card.md", None),
            ("docs/docs.md", None),
            ("pier.md", None),
        ],
    )
    def test_folder_of_a_page_with_its_name_is_an_entry_of_eleventy(self, path: str, folder: str | None) -> None:
        assert folder_of_index(path, "eleventy") == folder
        assert folder_of_index(path, "hugo") is folder_of_index(path) is None

    @pytest.mark.parametrize("other", ["more.md", "deep/more.njk", "feed.11ty.js", "index.md"])
    def test_folder_with_another_page_is_no_entry(self, other: str) -> None:
        files = [*self.PIER, f"src/posts/pier/{other}"]
        assert entry_files(self.PIER[3], files, "eleventy") == EntryFiles(self.PIER[3], None, (self.PIER[3],))

    def test_page_of_another_generator_is_alone(self) -> None:
        for generator in ("hugo", "jekyll", None):
            assert entry_files(self.PIER[3], self.PIER, generator).folder is None

    def test_move_renames_the_folder_the_page_and_its_data(self) -> None:
        files = (*self.PIER, "src/posts/pier/pier.11tydata.js", "src/posts/pier/pier.de.md", "src/posts/pier/pier.png")
        pier = entry_files(self.PIER[3], files, "eleventy")
        assert (pier.folder, pier.translations) == ("src/posts/pier", ("src/posts/pier/pier.de.md",))
        new = pier.page_at("src/news/quay")
        assert new == "src/news/quay/quay.md"
        moved = pier.moves_to(new)
        names = ("a.png", "img/b.jpg", "pier.png", "quay.11tydata.js", "quay.de.md", "quay.json", "quay.md")
        assert sorted(moved.values()) == [f"src/news/quay/{name}" for name in names]
        assert pier.page_in("src/news") == "src/news/pier/pier.md"

    @pytest.mark.parametrize(
        ("new", "expected"),
        [
            ("src/posts/quay/quay.md", None),
            ("src/posts/quay/index.md", None),
            ("src/posts/boats/boats.md", MoveProblem.EXISTS),
            ("src/posts/pier/deep/deep.md", MoveProblem.IN_ENTRY),
            ("src/posts/quay/pier.md", MoveProblem.NEEDS_FOLDER),
            ("src/posts/pier.md", MoveProblem.NEEDS_FOLDER),
        ],
    )
    def test_move_of_the_folder_is_checked(self, new: str, expected: MoveProblem | None) -> None:
        files = [*self.PIER, "src/posts/boats/boats.md"]
        pier = entry_files(self.PIER[3], self.PIER, "eleventy")
        names = FolderNames(frozenset(), frozenset({path.split("/")[2] for path in files}))
        assert move_problem(pier, new, lambda _folder: names, "eleventy") == expected

    @pytest.mark.parametrize("path", ["src/posts/pier/pier.md", "v1.2/v1.2.de.md", "posts/pier/index.md", "posts/a.md"])
    def test_address_has_the_name_once(self, path: str) -> None:
        start, name, end = address_parts(path, "eleventy")
        assert path_of_parts(start, name, end) == path
        assert "/" not in name
        assert name not in end
        assert folder_of_index(path_of_parts(start, "quay", end), "eleventy") == (
            f"{start}/quay".lstrip("/") if "/" in end else None
        )

    def test_copy_has_a_number_in_both_names(self) -> None:
        assert copy_path("src/posts/pier/pier.md", 2, "eleventy") == "src/posts/pier-2/pier-2.md"
        assert copy_path("src/posts/pier/pier.md", 2) == "src/posts/pier/pier-2.md"
