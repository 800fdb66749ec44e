"""Tests of snippets of search results."""

from app.content.search_query import parse
from app.resources.project_content.search.file_search import LENGTH, make_snippet


def marked(body: str, q: str) -> list[str]:
    snippet = make_snippet(body, parse(q).terms)
    return [snippet.text[a:b] for a, b in snippet.marks]


class TestMakeSnippet:
    def test_snippet_contains_the_densest_range_of_terms(self) -> None:
        body = "rose " + "filler " * 100 + "the rose beside thyme grows " + "filler " * 100
        assert marked(body, "rose thyme") == ["rose", "thyme"]
        assert len(make_snippet(body, parse("rose thyme").terms).text) <= LENGTH

    def test_snippet_marks_words_in_their_original_spelling(self) -> None:
        assert marked("Un Café, deux CAFÉS", "cafe*") == ["Café", "CAFÉS"]
        assert marked("今日は日本語を", "日本") == ["今日は日本語を"]

    def test_snippet_without_a_match_is_the_beginning_on_one_line(self) -> None:
        assert make_snippet("First\nsecond", parse("x").terms).text == "First second"
