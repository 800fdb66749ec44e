"""Collections with their languages, labels and numbers of files."""

import pytest

from app.content.schema.collection_groups import (
    CollectionGroup,
    FolderCount,
    collection_groups,
    group_of,
    language_code,
)
from app.content.schema.docusaurus import read_site, with_translations
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField, SourceKind
from app.content.schema.path_sets import path_set


def groups_of(
    *folders: str, counts: dict[str, int], kind: SourceKind = SourceKind.INFERRED, label: str | None = None
) -> dict[str, CollectionGroup]:
    """Return the groups by label. The keys of `counts` are folders, with the language before the ending after `:`."""
    collections = [
        Collection(one.replace("/", "-") or "pages", one, "**/*.md" if one else "*.md", label=label) for one in folders
    ]
    numbers = [FolderCount(*f"{key}:".split(":")[:2], "md", files) for key, files in counts.items()]
    groups = collection_groups(ContentSchema(kind, None, tuple(collections)), numbers)
    return {group.label: group for group in groups}


def languages(group: CollectionGroup) -> dict[str, int]:
    return {each.language: each.files for each in group.languages}


def paths(group: CollectionGroup, name: str) -> set[str]:
    return {each.path_of(name) for each in group.languages}


def test_folders_of_languages_around_collections_are_one_collection() -> None:
    folders = [f"content/{language}{folder}" for language in ("de", "en", "pt-br") for folder in ("", "/posts")]
    counts = {
        "content/de": 1,
        "content/en": 2,
        "content/de/posts": 9,
        "content/en/posts/2026": 9,
        "content/pt-br/posts": 3,
    }
    groups = groups_of(*folders, counts=counts)
    assert {label: (group.name, languages(group)) for label, group in groups.items()} == {
        "Pages": ("content", {"en": 2, "de": 1}),
        "Posts": ("content-posts", {"en": 9, "de": 9, "pt-br": 3}),
    }
    assert paths(groups["Posts"], "a.md") == {f"content/{one}/posts/a.md" for one in ("de", "en", "pt-br")}


def test_folders_of_content_with_a_language_are_one_collection() -> None:
    counts = {"content/posts": 2, "content.fr/posts": 1, "content.zh-cn/posts": 1, "content": 1, "content.fr": 1}
    groups = groups_of(*counts, counts=counts)
    assert {label: languages(group) for label, group in groups.items()} == {
        "Posts": {"": 2, "fr": 1, "zh-cn": 1},
        "Pages": {"": 1, "fr": 1},
    }
    assert paths(groups["Posts"], "a.md") == {
        f"{root}/posts/a.md" for root in ("content", "content.fr", "content.zh-cn")
    }


def test_translations_of_docusaurus_belong_to_the_collection_of_their_originals() -> None:
    plugin = "docusaurus-plugin-content-docs"
    originals = {"docs": 2, "versioned_docs/version-1": 3, "people": 1}
    translated = {f"i18n/uk/{plugin}/current": 9, f"i18n/de/{plugin}/version-1": 3, f"i18n/de/{plugin}-lost/current": 1}
    counts = [FolderCount(folder, "", "md", files) for folder, files in (originals | translated).items()]
    site = read_site("", "i18n: { defaultLocale: 'en' }", translated)
    folders = ("docs", "versioned_docs", "people", f"i18n/de/{plugin}-lost/current")
    inferred = [Collection(folder, folder, "**/*.md") for folder in folders]
    collections = with_translations(inferred, [site], is_declared=False)
    groups = {
        group.label: group for group in collection_groups(ContentSchema(SourceKind.INFERRED, None, collections), counts)
    }
    assert {label: (group.main.language, languages(group)) for label, group in groups.items()} == {
        "Docs": ("en", {"en": 2, "uk": 9, "de": 0}),
        "Lost": ("", {"": 1}),
        "People": ("", {"": 1}),
        "Versioned docs": ("en", {"en": 3, "de": 3, "uk": 0}),
    }
    assert paths(groups["Docs"], "a.md") == {
        "docs/a.md",
        *(f"i18n/{one}/{plugin}/current/a.md" for one in ("de", "uk")),
    }
    member = group_of(groups.values(), f"i18n/de/{plugin}/version-1/b.md")
    assert member is not None
    assert (member[0].label, member[2]) == ("Versioned docs", "version-1/b.md")
    declared = with_translations(inferred[:1], [site], is_declared=True)
    assert [one.folder for one in declared] == ["docs"]


def test_folders_of_languages_at_the_root_are_one_collection() -> None:
    groups = groups_of("de", "en", "de/news", "en/news", counts={"de": 1, "en": 2, "de/news": 3, "en/news": 4})
    assert {label: languages(group) for label, group in groups.items()} == {
        "Pages": {"en": 2, "de": 1},
        "News": {"en": 4, "de": 3},
    }


@pytest.mark.parametrize("files", [1, 50])
def test_inferred_collections_have_the_same_order_for_all_numbers_of_files(files: int) -> None:
    counts = {"": files, "zebras": 51 - files, "apples": files, "docs": 9, "_posts": 51 - files, "en": 5, "de": 4}
    assert list(groups_of(*counts, counts=counts)) == [
        "Posts",
        "Docs",
        "Pages",
        "Apples",
        "Zebras",
        "Pages (top level)",
    ]
    declared = groups_of(*counts, counts=counts, kind=SourceKind.GALLEY)
    assert [group.name for group in declared.values()] == ["pages", "zebras", "apples", "docs", "_posts", "en"]


@pytest.mark.parametrize(("english", "first"), [(95, "en"), (80, "uk")])
def test_english_is_the_first_language_if_it_has_nearly_all_files(english: int, first: str) -> None:
    [group] = groups_of("en", "uk", counts={"en": english, "uk": 100}).values()
    assert (group.main.language, group.files) == (first, {"en": english, "uk": 100}[first])


def test_folders_of_languages_in_a_collection_are_languages() -> None:
    counts = {"docs": 1, "docs/guides": 4, "docs/de": 1, "docs/de/guides": 3, "docs/ja": 1}
    groups = groups_of("docs", counts=counts)
    assert languages(groups["Docs"]) == {"": 5, "de": 4, "ja": 1}
    assert paths(groups["Docs"], "guides/a.md") == {"docs/guides/a.md", "docs/de/guides/a.md", "docs/ja/guides/a.md"}


@pytest.mark.parametrize(
    "counts", [{"docs": 4, "docs/de": 4}, {"docs": 1, "docs/ts": 4, "docs/io": 1}, {"docs/cli": 2}]
)
def test_folder_without_a_counterpart_is_no_language(counts: dict[str, int]) -> None:
    [group] = groups_of("docs", counts=counts).values()
    assert languages(group) == {"": sum(counts.values())}


def test_endings_of_languages_are_languages() -> None:
    groups = groups_of("posts", counts={"posts": 5, "posts/2026:de": 3, "posts:zh-tw": 1, "posts:v2": 1})
    assert languages(groups["Posts"]) == {"": 5, "de": 3, "zh-tw": 1}
    assert paths(groups["Posts"], "2026/a.md") == {"posts/2026/a.md", "posts/2026/a.de.md", "posts/2026/a.zh-tw.md"}


def test_declared_locales_are_languages_and_name_the_files_without_a_mark() -> None:
    posts = Collection("posts", "posts", "**/*.md", locales=("english", "de"))
    counts = [FolderCount("posts", mark, "md", files) for mark, files in (("", 3), ("de", 2), ("fr", 1))]
    counts += [FolderCount("notes/english", "", "md", 4), FolderCount("notes/ja", "", "md", 1)]
    notes = Collection("notes", "notes", "**/*.md", locales=("english", "de"))
    first, second = collection_groups(ContentSchema(SourceKind.DECAP, None, (posts, notes)), counts)
    assert languages(first) == {"english": 3, "de": 2}
    assert languages(second) == {"english": 4, "": 1}


def test_excluded_names_and_filters_of_collections_are_counted_by_their_query() -> None:
    pages = Collection("pages", "pages", "**/*.md", exclude=("_index.md",))
    [group] = collection_groups(ContentSchema(SourceKind.GALLEY, None, (pages,)), [FolderCount("pages", "", "md", 2)])
    assert not group.main.has_all_endings
    assert group.main.paths.unlike == ("_index.md", "*/_index.md")
    assert group.main.name_of("pages/a/_index.md") is None
    assert path_set(Collection("x", "x", "**/index.{md,mdx}")).patterns == (
        "index.md",
        "index.mdx",
        "*/index.md",
        "*/index.mdx",
    )


def test_fields_of_languages_are_languages() -> None:
    fields = tuple(
        SchemaField(name, FieldType.OBJECT, fields=(SchemaField("title", FieldType.STRING),)) for name in ("en", "de")
    )
    collection = Collection("posts", "posts", "*.md", fields)
    [group] = collection_groups(ContentSchema(SourceKind.DECAP, None, (collection,)), [])
    assert {(each.language, each.fields[0].name) for each in group.languages} == {("en", "title"), ("de", "title")}


def test_entry_is_the_same_entry_in_all_languages() -> None:
    around = groups_of("content/de/posts", "content/en/posts", counts={"content/de/posts": 1, "content/en/posts": 1})
    below = groups_of("docs", counts={"docs/guides": 1, "docs/de/guides": 1, "docs/fr/guides": 1})
    endings = groups_of("notes", counts={"notes": 1, "notes:de": 1})
    groups = [*around.values(), *below.values(), *endings.values()]
    for path, language, name in (
        ("content/de/posts/x/a.md", "de", "x/a.md"),
        ("docs/guides/a.md", "", "guides/a.md"),
        ("docs/fr/guides/a.md", "fr", "guides/a.md"),
        ("notes/a.md", "", "a.md"),
        ("notes/a.de.md", "de", "a.md"),
        ("notes/v1.2.md", "", "v1.2.md"),
    ):
        member = group_of(groups, path)
        assert member is not None, path
        assert (member[1].language, member[2], member[1].path_of(member[2])) == (language, name, path)
    assert group_of(groups, "notes/a.png") is None
    assert group_of(groups, "other/a.md") is None


def test_files_of_a_collection_in_a_folder_below_belong_to_it_only() -> None:
    counts = {"content": 2, "content/posts": 3, "content/posts/old": 4, "content/other": 1}
    groups = groups_of("content", "content/posts", "content/posts/old", counts=counts)
    assert {label: group.files for label, group in groups.items()} == {"Pages": 3, "Posts": 3, "Old": 4}
    member = group_of(groups.values(), "content/posts/old/a.md")
    assert member is not None
    assert member[0].label == "Old"


def test_labels_are_unique() -> None:
    groups = groups_of("packages/a/docs", "packages/b/docs", "docs", "posts", counts={})
    assert list(groups) == ["Posts", "Docs", "A / Docs", "B / Docs"]
    roots = groups_of("content", "src/pages", "", "a-b", "a_b", counts={})
    assert list(roots) == ["Pages (content)", "Pages (src/pages)", "A b (a-b)", "A b (a_b)", "Pages"]
    declared = groups_of("one", "two", counts={}, kind=SourceKind.GALLEY, label="Texts")
    assert list(declared) == ["One / Texts", "Two / Texts"]


@pytest.mark.parametrize("text", ["de", "pt-br", "pt_BR", "zh-Hans", "es-419", "EN"])
def test_language_code_accepts_the_spellings_of_repositories(text: str) -> None:
    assert language_code(text) == text


@pytest.mark.parametrize("text", ["", "ts", "qq", "docs", "d", "de-", "de-x", "deu-schland"])
def test_language_code_refuses_other_names(text: str) -> None:
    assert language_code(text) is None


def test_folders_of_a_collection_are_those_that_contain_entries() -> None:
    counts = [
        FolderCount("posts", "", "md", 1, 1),
        FolderCount("posts/2025", "", "md", 3),
        FolderCount("posts/2026/tide", "", "md", 1, 1),
        FolderCount("posts/2026/tide", "", "png", 2),
        FolderCount("posts/images", "", "png", 2),
        FolderCount("posts-old", "", "md", 2),
    ]
    [group] = collection_groups(
        ContentSchema(SourceKind.GALLEY, None, (Collection("posts", "posts", "**/*.md"),)), counts
    )
    assert group.main.folders == ("posts", "posts/2025", "posts/2026")
