"""Tests of the search through the API by words, prefixes, phrases, paths, types and fields in several scripts."""

import random
import re
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.content.words import words
from app.extensions import db
from app.models.content_search import ContentText
from app.models.project_content import ContentIndex
from app.resources.project_content.index import cleanup
from app.resources.project_content.index.search_indexing import READER_VERSION
from app.resources.project_content.search.file_search import MAX_SCANNED, RANKED
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.support.assertions.statements import executed
from tests.support.world import World

PAGES: dict[str, Any] = FILES | {
    "content/posts/garden.md": b"---\ntitle: The quiet garden\ntags: [Plants, outdoor life]\nauthor:\n  name: Ada\n"
    b"draft: true\n---\n\nRoses and thyme grow beside the wall.\n",
    "content/posts/caf\u00e9.md": "---\ntitle: Un café\n---\nNaïve STRASSE, straße.\n".encode(),
    "content/ja/日本語.md": "# 東京の天気\n\n今日は日本語を勉強します。\n".encode(),
    "content/th/หน้า.md": "# ภาษาไทย\n\nวันนี้เรากินข้าวผัดที่ตลาดน้ำ สวัสดีครับ\n".encode(),
    "content/hi/पृष्ठ.md": "---\nशीर्षक: चाय\n---\n# हिन्दी में जानकारी\n\nयह पृष्ठ चाय के बारे में है।\n".encode(),
    "content/zh/页面.md": "# 绿茶\n\n每年四月各家各户开始采摘第一批茶叶，使用Git提交。\n".encode(),
    "data/menu.yaml": b"items:\n  - thyme tea\n",
    "static/rose.png": b"\x89PNG\r\n\x1a\n\0\0",
    "notes.txt": b"garden tools, a quiet list\n",
    "under_score-100%.md": b"percent\n",
}


def search_paths(site: Site, q: str, **more: Any) -> list[str]:
    return [hit["path"] for hit in site.owner.get(site.path("/search"), query_string={"q": q} | more).ok()]


@pytest.fixture(scope="module")
def library(app: Flask) -> Site:
    """Return an indexed project that no test changes."""
    return make_site(World(app), PAGES)


class TestTerms:
    def test_search_terms_must_all_match_text_or_path(self, library: Site) -> None:
        assert set(search_paths(library, "garden quiet")) == {"content/posts/garden.md", "notes.txt"}
        assert search_paths(library, "garden roses") == ["content/posts/garden.md"]
        assert search_paths(library, "posts thyme") == ["content/posts/garden.md"]
        assert search_paths(library, "zzzqqqxxx") == []

    def test_title_match_ranks_above_a_text_match(self, library: Site) -> None:
        assert search_paths(library, "quiet")[0] == "content/posts/garden.md"

    def test_search_term_matches_whole_words_and_a_star_matches_prefixes(self, library: Site) -> None:
        assert search_paths(library, "thy") == []
        assert set(search_paths(library, "thy*")) == {"content/posts/garden.md", "data/menu.yaml"}

    def test_quoted_search_matches_the_phrase(self, library: Site) -> None:
        assert search_paths(library, '"roses and thyme"') == ["content/posts/garden.md"]
        assert search_paths(library, '"thyme and roses"') == []

    def test_search_ignores_case_accents_and_compatible_forms(self, library: Site) -> None:
        for q in ("CAFE", "café", "cafe\u0301", "naive", "strasse", "STRAẞE"):
            assert search_paths(library, q) == ["content/posts/café.md"], q

    def test_search_in_scripts_without_spaces_matches_any_part(self, library: Site) -> None:
        for q in ("日本語", "日本", "語", "勉強", "東京", "天気"):
            assert search_paths(library, q) == ["content/ja/日本語.md"], q
        assert search_paths(library, "日語") == []

    @pytest.mark.parametrize(
        ("folder", "found", "absent"),
        [
            ("th", ["ข้าวผัด", "กินข้าว", "ตลาด", "น้ำ", "ไทย", "สวัสดี", '"ตลาดน้ำ สวัสดี"', "หน้า"], ["ข้าวต้ม", "ครับผม"]),
            ("zh", ["茶叶", "采摘", "四月", "使用git提交", "git提交", "第一批", "页面"], ["茶水", "五月"]),
            ("ja", ["勉強します", "今日", "東京の天気"], ["東京都"]),
            ("hi", ["हिन्दी", "जानकारी", "जान*", "चाय", "पृष्ठ", "शीर्षक:चाय", '"में जानकारी"'], ["हिन्दू", "जान", "हिन", "न"]),
        ],
    )  # fmt: skip
    def test_words_of_every_script_are_found(
        self, library: Site, folder: str, found: list[str], absent: list[str]
    ) -> None:
        for q in found:
            assert [path.split("/")[1] for path in search_paths(library, q)] == [folder], q
        for q in absent:
            assert search_paths(library, q) == [], q


class TestUpgrade:
    def test_texts_of_an_earlier_version_are_read_again(self, site: Site, app: Flask) -> None:
        pages = {"hi.md": "---\ntitle: हिन्दी\n---\nचाय [link](en.md)\n", "en.md": "tea\n"}
        site.commit(*({"path": path, "action": "create", "content": page} for path, page in pages.items())).ok(201)
        site.world.work_off()
        with app.app_context():
            of_project = ContentText.project_id == site.project
            db.session.execute(sa.update(ContentText).where(of_project).values(version=0))
            index = sa.update(ContentIndex).where(ContentIndex.project_id == site.project)
            db.session.execute(index.values(described_sha=None))
            db.session.commit()
            cleanup.enqueue_missing()
            db.session.commit()
        site.world.work_off()
        with app.app_context():
            rows = db.session.execute(sa.select(ContentText.body, ContentText.version).where(of_project)).all()
        assert {body: version for body, version in rows if "tea" in body or "चाय" in body} == {
            "tea\n": READER_VERSION,
            "चाय [link](en.md)\n": READER_VERSION,
        }
        assert [search_paths(site, q) for q in ("चाय", "title:हिन्दी", "tea")] == [["hi.md"], ["hi.md"], ["en.md"]]
        assert [
            hit["path"] for hit in site.owner.get(site.path("/backlinks"), query_string={"file": "en.md"}).ok()
        ] == ["hi.md"]


class TestFilters:
    def test_search_by_a_part_of_a_path_returns_the_file(self, library: Site) -> None:
        assert search_paths(library, "path:posts/gar") == ["content/posts/garden.md"]
        assert search_paths(library, "score") == ["under_score-100%.md"]
        assert search_paths(library, 'path:"_score-100%"') == ["under_score-100%.md"]
        assert search_paths(library, 'path:"_s%e"') == []

    def test_search_by_a_front_matter_field_returns_its_files(self, library: Site) -> None:
        assert search_paths(library, "draft:true") == ["content/posts/garden.md"]
        assert search_paths(library, "tags:plants") == ["content/posts/garden.md"]
        assert search_paths(library, 'tags:"outdoor life"') == ["content/posts/garden.md"]
        assert search_paths(library, "author.name:ada") == ["content/posts/garden.md"]
        assert search_paths(library, "title:roses") == []
        assert search_paths(library, "tags:pla*") == ["content/posts/garden.md"]

    def test_search_type_accepts_language_media_type_and_extension(self, library: Site) -> None:
        assert search_paths(library, "garden", type="markdown") == ["content/posts/garden.md"]
        assert search_paths(library, "garden", type="text/plain") == ["notes.txt"]
        assert search_paths(library, "rose", type="image") == ["static/rose.png"]
        assert search_paths(library, "thyme", type=".yaml") == ["data/menu.yaml"]
        assert search_paths(library, "type:image") == ["static/rose.png"]

    def test_limits_are_part_of_the_statements(self, app: Flask, library: Site) -> None:
        """A plan of PostgreSQL without the value of a limit reads all texts."""
        with executed(app) as statements:
            search_paths(library, "garden quiet")
            search_paths(library, "garden", limit=7)
        limits = [limit for statement, _ in statements for limit in re.findall(r"LIMIT (\S+)", statement)]
        assert {f"{RANKED + 1}", f"{MAX_SCANNED}"} <= set(limits)
        assert [limit for limit in limits if not limit.isdigit()] == []

    def test_search_limit_bounds_the_hits(self, library: Site) -> None:
        assert len(search_paths(library, "path:content", limit=2)) == 2
        library.owner.get(library.path("/search?q=x&limit=0")).fails(400, None, "limit")


class TestHits:
    def test_hits_have_title_score_and_marked_snippet(self, library: Site) -> None:
        [hit] = library.owner.get(library.path("/search?q=thyme wall")).ok()
        text = hit["snippet"]["text"]
        assert (hit["title"], hit["sha"]) == ("The quiet garden", library.oracle()["content/posts/garden.md"][1])
        assert hit["score"] > 0
        assert [text[a:b] for a, b in hit["snippet"]["marks"]] == ["thyme", "wall"]

    def test_hit_without_text_has_no_snippet(self, library: Site) -> None:
        [hit] = library.owner.get(library.path("/search?q=rose.png")).ok()
        assert hit["snippet"] is None


class TestInvalidQueries:
    @pytest.mark.parametrize(
        "q",
        ['"', "'; DROP TABLE x; --", "%", "a AND (", "*", "\\", "a* OR b*", "NEAR(a b)", "words:", ":*", "-a", "^a",
         "a & | ! <-> b", "=prj", "{a}", "x:y:z", '"a" "b', "\ufffd", "\u0000", "a\u0000b", "🎉", "_", "a_b", "(((("],
    )  # fmt: skip
    def test_search_accepts_any_query(self, library: Site, q: str) -> None:
        assert library.owner.get(library.path("/search"), query_string={"q": q}).status in (200, 400)

    def test_search_query_is_required_and_bounded(self, library: Site) -> None:
        library.owner.get(library.path("/search")).fails(400, None, "q")
        library.owner.get(library.path("/search"), query_string={"q": "x" * 401}).fails(400, None, "q")
        assert search_paths(library, "w " * 200) == []

    def test_search_excludes_other_projects(self, world: World, library: Site) -> None:
        other = make_site(world, {"secret.md": b"garden of others, roses\n"})
        assert "secret.md" not in search_paths(library, "garden")
        assert search_paths(other, "garden") == ["secret.md"]
        assert search_paths(other, "thyme") == []
        library.world.person().get(library.path("/search?q=garden")).fails(403)

    def test_invalid_or_huge_file_does_not_block_the_indexing_of_other_files(self, world: World) -> None:
        hard = {
            "bad.md": b"---\ntitle: [unclosed\n---\nfindable words\n",
            "latin.md": b"caf\xe9 findable\n",
            "binary.md": bytes(range(256)) * 10,
            "huge.md": b"findable " + b"lorem ipsum dolor " * 150_000,
            "long-word.md": b"findable " + b"x" * 300_000,
            "last.md": b"findable\n",
        }
        site = make_site(world, hard)
        assert set(search_paths(site, "findable")) == {"bad.md", "latin.md", "long-word.md", "last.md"}
        assert search_paths(site, "huge") == ["huge.md"]


class TestUpdates:
    def test_search_matches_paths_before_texts_are_indexed(self, world: World, app: Any) -> None:
        site = make_site(world, PAGES)
        site.commit({"path": "content/fresh.md", "action": "create", "content": "unread words\n"}).ok(201)
        assert search_paths(site, "fresh") == ["content/fresh.md"]
        assert search_paths(site, "unread") == []
        world.work_off()
        assert search_paths(site, "unread") == ["content/fresh.md"]

    def test_changed_moved_and_deleted_files_are_searched_in_their_new_state(self, world: World) -> None:
        library = make_site(world, PAGES)
        library.repo.commit(
            {
                "notes.txt": b"lavender\n",
                "content/posts/garden.md": None,
                "elsewhere.md": PAGES["content/posts/garden.md"],
            }
        )
        library.owner.post(library.path("/reindex"), {}).ok(202)
        library.world.work_off()
        assert search_paths(library, "lavender") == ["notes.txt"]
        assert search_paths(library, "thyme roses") == ["elsewhere.md"]
        assert search_paths(library, "tools") == []

    def test_search_of_a_branch_returns_only_its_files(self, world: World) -> None:
        library = make_site(world, PAGES)
        library.repo.commit({"b.md": b"branching\n", "notes.txt": None}, branch="work", start=library.repo.head())
        search_paths(library, "x", ref="work")
        library.world.work_off()
        assert search_paths(library, "branching", ref="work") == ["b.md"]
        assert search_paths(library, "branching") == []
        assert search_paths(library, "garden", ref="work") == ["content/posts/garden.md"]


@pytest.mark.slow
class TestRecall:
    def test_search_returns_the_files_of_a_linear_scan(self, world: World) -> None:
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
            expected = {
                path for path, data in files.items() if all(_matches(path, data, w, begun=begun) for w in asked)
            }
            assert set(search_paths(site, q, limit=100)) == expected or len(expected) > 100, q


def _matches(path: str, data: bytes, word: str, *, begun: bool) -> bool:
    [asked] = words(word[:-1] if begun else word)
    in_text = any(w.startswith(asked) if begun else w == asked for w in words(data.decode()))
    return in_text or asked in "-".join(words(path))
