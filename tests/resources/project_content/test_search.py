"""Search through the API: words, beginnings, phrases, paths, types and fields, in every script, on both stores."""

import random
from typing import Any

import pytest

from app.core.content.words import words
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.world import World

PAGES: dict[str, Any] = FILES | {
    "content/posts/garden.md": b"---\ntitle: The quiet garden\ntags: [Plants, outdoor life]\nauthor:\n  name: Ada\n"
    b"draft: true\n---\n\nRoses and thyme grow beside the wall.\n",
    "content/posts/caf\u00e9.md": "---\ntitle: Un café\n---\nNaïve STRASSE, straße.\n".encode(),
    "content/ja/日本語.md": "# 東京の天気\n\n今日は日本語を勉強します。\n".encode(),
    "data/menu.yaml": b"items:\n  - thyme tea\n",
    "static/rose.png": b"\x89PNG\r\n\x1a\n\0\0",
    "notes.txt": b"garden tools, a quiet list\n",
    "under_score-100%.md": b"percent\n",
}


def found(site: Site, q: str, **more: Any) -> list[str]:
    return [hit["path"] for hit in site.owner.get(site.path("/search"), query_string={"q": q} | more).ok()]


@pytest.fixture
def library(world: World) -> Site:
    return make_site(world, PAGES)


class TestWords:
    def test_all_words_must_be_met_by_text_or_path(self, library: Site) -> None:
        assert set(found(library, "garden quiet")) == {"content/posts/garden.md", "notes.txt"}
        assert found(library, "garden roses") == ["content/posts/garden.md"]
        assert found(library, "posts thyme") == ["content/posts/garden.md"]
        assert found(library, "zzzqqqxxx") == []

    def test_a_title_counts_more_than_a_mention(self, library: Site) -> None:
        assert found(library, "quiet")[0] == "content/posts/garden.md"

    def test_a_word_is_a_whole_word_and_a_star_makes_it_a_beginning(self, library: Site) -> None:
        assert found(library, "thy") == []
        assert set(found(library, "thy*")) == {"content/posts/garden.md", "data/menu.yaml"}

    def test_quotes_ask_for_words_in_that_order(self, library: Site) -> None:
        assert found(library, '"roses and thyme"') == ["content/posts/garden.md"]
        assert found(library, '"thyme and roses"') == []

    def test_case_accents_and_compatible_forms_make_no_difference(self, library: Site) -> None:
        for q in ("CAFE", "café", "cafe\u0301", "naive", "strasse", "STRAẞE"):
            assert found(library, q) == ["content/posts/café.md"], q

    def test_scripts_without_spaces_are_found_by_any_part(self, library: Site) -> None:
        for q in ("日本語", "日本", "語", "勉強", "東京", "天気"):
            assert found(library, q) == ["content/ja/日本語.md"], q
        assert found(library, "日語") == []


class TestNarrowing:
    def test_a_path_is_found_by_any_part_of_it(self, library: Site) -> None:
        assert found(library, "path:posts/gar") == ["content/posts/garden.md"]
        assert found(library, "score") == ["under_score-100%.md"]
        assert found(library, 'path:"_score-100%"') == ["under_score-100%.md"]
        assert found(library, 'path:"_s%e"') == []

    def test_a_field_of_the_front_matter(self, library: Site) -> None:
        assert found(library, "draft:true") == ["content/posts/garden.md"]
        assert found(library, "tags:plants") == ["content/posts/garden.md"]
        assert found(library, 'tags:"outdoor life"') == ["content/posts/garden.md"]
        assert found(library, "author.name:ada") == ["content/posts/garden.md"]
        assert found(library, "title:roses") == []
        assert found(library, "tags:pla*") == ["content/posts/garden.md"]

    def test_a_type_by_language_media_type_or_ending(self, library: Site) -> None:
        assert found(library, "garden", type="markdown") == ["content/posts/garden.md"]
        assert found(library, "garden", type="text/plain") == ["notes.txt"]
        assert found(library, "rose", type="image") == ["static/rose.png"]
        assert found(library, "thyme", type=".yaml") == ["data/menu.yaml"]
        assert found(library, "type:image") == ["static/rose.png"]

    def test_the_limit(self, library: Site) -> None:
        assert len(found(library, "path:content", limit=2)) == 2
        library.owner.get(library.path("/search?q=x&limit=0")).fails(400, None, "limit")


class TestHits:
    def test_they_show_title_score_and_the_words_in_their_place(self, library: Site) -> None:
        [hit] = library.owner.get(library.path("/search?q=thyme wall")).ok()
        text = hit["snippet"]["text"]
        assert (hit["title"], hit["sha"]) == ("The quiet garden", library.oracle()["content/posts/garden.md"][1])
        assert hit["score"] > 0
        assert [text[a:b] for a, b in hit["snippet"]["marks"]] == ["thyme", "wall"]

    def test_a_file_without_text_has_no_snippet(self, library: Site) -> None:
        [hit] = library.owner.get(library.path("/search?q=rose.png")).ok()
        assert hit["snippet"] is None


class TestSafety:
    @pytest.mark.parametrize(
        "q",
        ['"', "'; DROP TABLE x; --", "%", "a AND (", "*", "\\", "a* OR b*", "NEAR(a b)", "words:", ":*", "-a", "^a",
         "a & | ! <-> b", "=prj", "{a}", "x:y:z", '"a" "b', "\ufffd", "\u0000", "a\u0000b", "🎉", "_", "a_b", "(((("],
    )  # fmt: skip
    def test_nothing_that_can_be_typed_breaks_it(self, library: Site, q: str) -> None:
        assert library.owner.get(library.path("/search"), query_string={"q": q}).status in (200, 400)

    def test_a_question_is_needed_and_bounded(self, library: Site) -> None:
        library.owner.get(library.path("/search")).fails(400, None, "q")
        library.owner.get(library.path("/search"), query_string={"q": "x" * 401}).fails(400, None, "q")
        assert found(library, "w " * 200) == []

    def test_other_projects_are_never_found(self, world: World, library: Site) -> None:
        other = make_site(world, {"secret.md": b"garden of others, roses\n"})
        assert "secret.md" not in found(library, "garden")
        assert found(other, "garden") == ["secret.md"]
        assert found(other, "thyme") == []
        library.world.person().get(library.path("/search?q=garden")).fails(403)

    def test_bad_and_huge_files_do_not_keep_the_others_from_being_found(self, world: World) -> None:
        hard = {
            "bad.md": b"---\ntitle: [unclosed\n---\nfindable words\n",
            "latin.md": b"caf\xe9 findable\n",
            "binary.md": bytes(range(256)) * 10,
            "huge.md": b"findable " + b"lorem ipsum dolor " * 150_000,
            "long-word.md": b"findable " + b"x" * 300_000,
            "last.md": b"findable\n",
        }
        site = make_site(world, hard)
        assert set(found(site, "findable")) == {"bad.md", "latin.md", "long-word.md", "last.md"}
        assert found(site, "huge") == ["huge.md"]


class TestFollowing:
    def test_paths_are_found_before_texts_are_read(self, world: World, app: Any) -> None:
        site = make_site(world, PAGES)
        site.commit({"path": "content/fresh.md", "action": "create", "content": "unread words\n"}).ok(201)
        assert found(site, "fresh") == ["content/fresh.md"]
        assert found(site, "unread") == []
        world.work_off()
        assert found(site, "unread") == ["content/fresh.md"]

    def test_changed_moved_and_deleted_files(self, library: Site) -> None:
        library.repo.commit(
            {
                "notes.txt": b"lavender\n",
                "content/posts/garden.md": None,
                "elsewhere.md": PAGES["content/posts/garden.md"],
            }
        )
        library.owner.post(library.path("/reindex"), {}).ok(202)
        library.world.work_off()
        assert found(library, "lavender") == ["notes.txt"]
        assert found(library, "thyme roses") == ["elsewhere.md"]
        assert found(library, "tools") == []

    def test_a_branch_is_searched_by_its_own_files(self, library: Site) -> None:
        library.repo.commit({"b.md": b"branching\n", "notes.txt": None}, branch="work", start=library.repo.head())
        found(library, "x", ref="work")
        library.world.work_off()
        assert found(library, "branching", ref="work") == ["b.md"]
        assert found(library, "branching") == []
        assert found(library, "garden", ref="work") == ["content/posts/garden.md"]


class TestRecall:
    def test_it_finds_exactly_what_brute_force_finds(self, world: World) -> None:
        dice = random.Random(11)
        vocabulary = [f"{stem}{n}" for stem in ("alpha", "beta", "γάμμα", "été", "word") for n in range(12)]
        files = {
            f"d{n % 7}/{dice.choice(vocabulary)}-{n}.md": (" ".join(dice.choices(vocabulary, k=12)) + "\n").encode()
            for n in range(300)
        }
        site = make_site(world, files)
        for _ in range(40):
            asked = dice.sample(vocabulary, dice.randint(1, 3))
            begun = dice.random() < 0.3
            q = " ".join(word[:-1] + "*" if begun else word for word in asked)
            wanted = {path for path, data in files.items() if all(_meets(path, data, w, begun=begun) for w in asked)}
            assert set(found(site, q, limit=100)) == wanted or len(wanted) > 100, q


def _meets(path: str, data: bytes, word: str, *, begun: bool) -> bool:
    [asked] = words(word[:-1] if begun else word)
    in_text = any(w.startswith(asked) if begun else w == asked for w in words(data.decode()))
    return in_text or asked in "-".join(words(path))
