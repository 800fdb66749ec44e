"""Tests of the file handlers: code edits, commit messages, metadata and SEO corrections."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.resources.ai.questions import BODIES, GOOD, system_of, users_text
from tests.resources.ai.streams import kinds, of_kind, parts, text
from tests.support.doubles.ai import AiDouble, say
from tests.support.world import Person

pytestmark = pytest.mark.one_database

CODE = "<h1>{{ .Title }}</h1>\n<p>old</p>\n"
NEW = "<h1>{{ .Title }}</h1>\n<p>new</p>\n"


class TestCodeEdit:
    @pytest.mark.parametrize(
        "said", [(NEW,), ("```html\n", NEW, "```"), ("``", "`html\n" + NEW[:9], NEW[9:], "```\n\n"), (NEW.strip(),)]
    )
    def test_text_and_diff_agree_for_every_fence(
        self, me: Person, double: AiDouble, said: tuple[str, ...], tmp_path: Path
    ) -> None:
        double.script = [say(*said)]
        body = {"code": CODE, "instruction": "Make it new", "path": "layouts/index.html", "language": "html"}
        stream_parts = parts(me.post("/api/ai/code-edit", body))
        data = of_kind(stream_parts, "data-diff")[0]["data"]
        assert text(stream_parts) == data["code"] == NEW
        assert data["path"] == "layouts/index.html"
        assert kinds(stream_parts)[-4:] == ["text-end", "data-diff", "finish-step", "finish"]
        file = tmp_path / "layouts/index.html"
        file.parent.mkdir()
        file.write_text(CODE)
        subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=data["diff"].encode(), check=True)
        assert file.read_text() == NEW

    def test_json_is_returned_if_accepted(self, me: Person, double: AiDouble) -> None:
        double.script = [say("```\n", NEW, "```")]
        body = {"code": CODE, "instruction": "Make it new"}
        answer = me.post("/api/ai/code-edit", body, headers={"Accept": "application/json"})
        result = answer.ok()
        assert result["code"] == NEW
        assert result["diff"].startswith("--- a/code\n+++ b/code\n@@ -1,2 +1,2 @@\n")
        assert answer.json["diff"] == result["diff"]

    @pytest.mark.parametrize("headers", [{}, {"Accept": "application/json"}])
    @pytest.mark.parametrize("turn", [say("<h1>", reason="length"), say("  \n")])
    def test_cut_off_or_empty_answer_is_an_error_without_a_diff(
        self, me: Person, double: AiDouble, headers: dict[str, str], turn: Any
    ) -> None:
        double.script = [turn]
        answer = me.post("/api/ai/code-edit", {"code": CODE, "instruction": "x"}, headers=headers)
        if headers:
            answer.fails(502)
            return
        assert kinds(parts(answer))[-1] == "error"
        assert of_kind(parts(answer), "data-diff") == []

    @pytest.mark.parametrize("path", ["../x", "/etc/x", "a/.git/config", "a\nb"])
    def test_invalid_path_returns_400_with_path(self, me: Person, double: AiDouble, path: str) -> None:
        me.post("/api/ai/code-edit", {"code": "a", "instruction": "b", "path": path}).fails(400, None, "path")


class TestCommit:
    def test_message_is_composed_of_its_parts(self, me: Person, double: AiDouble) -> None:
        double.script = [GOOD["commit"]]
        answer = me.post("/api/ai/commit", {"diff": "--- a\n+++ b\n", "locale": "de-CH"})
        assert answer.ok() == {
            "text": "docs(tea): Say why\n\nBecause.",
            "type": "docs",
            "scope": "tea",
            "subject": "Say why",
            "body": "Because.",
        }
        assert answer.json["text"].startswith("docs(tea)")
        assert "de-CH" in system_of(double)
        assert double.last.body["max_tokens"] == 256

    def test_subject_too_long_is_requested_once_more(self, me: Person, double: AiDouble) -> None:
        long = say('{"type": "feat", "scope": "", "subject": "%s", "body": ""}' % ("x" * 80))
        double.script = [long, say('```json\n{"type": "feat", "scope": "", "subject": "add tea", "body": ""}\n```')]
        assert me.post("/api/ai/commit", BODIES["commit"]).ok()["text"] == "feat: add tea"
        assert "has 86 characters" in users_text(double)
        double.script = [long]
        me.post("/api/ai/commit", BODIES["commit"]).fails(502, "AI_INVALID_ANSWER")
        assert len(double.asked) == 4

    @pytest.mark.parametrize(
        "wrong", ["not json", "[]", '{"type": "new", "scope": "", "subject": "a", "body": ""}', '{"subject": "a"}']
    )
    def test_invalid_answer_returns_502(self, me: Person, double: AiDouble, wrong: str) -> None:
        double.script = [say(wrong)]
        me.post("/api/ai/commit", BODIES["commit"]).fails(502, "AI_INVALID_ANSWER")


class TestMetadata:
    def test_metadata_beyond_its_lengths_returns_502(self, me: Person, double: AiDouble) -> None:
        double.script = [GOOD["metadata"]]
        result = me.post("/api/ai/metadata", {"content": "# Tea", "front_matter": {"title": "Old"}}).ok()
        assert set(result) == {"title", "description", "keywords", "slug", "og"}
        double.script = [say(GOOD["metadata"].whole.replace('"All of tea."', f'"{"x" * 161}"'))]
        me.post("/api/ai/metadata", BODIES["metadata"]).fails(502, "AI_INVALID_ANSWER")
        double.script = [say(GOOD["metadata"].whole.replace('"slug": "tea"', '"slug": "Tea!"'))]
        me.post("/api/ai/metadata", BODIES["metadata"]).fails(502, "AI_INVALID_ANSWER")


class TestSeoFix:
    def test_result_contains_the_diff(self, me: Person, double: AiDouble) -> None:
        double.script = [GOOD["seo-fix"]]
        result = me.post("/api/ai/seo-fix", BODIES["seo-fix"]).ok()
        assert result["content"] == "---\ntitle: Tea\n---\n# Tea"
        assert result["diff"].count("\n+") == 4
        assert result["changes"] == [{"id": "title", "summary": "Added a title"}]

    def test_change_of_an_unknown_issue_returns_502(self, me: Person, double: AiDouble) -> None:
        double.script = [say(GOOD["seo-fix"].whole.replace('"id": "title"', '"id": "other"'))]
        me.post("/api/ai/seo-fix", BODIES["seo-fix"]).fails(502, "AI_INVALID_ANSWER")

    @pytest.mark.parametrize("issues", [[], [{"id": "a"}], [{"id": "a", "message": "m"}] * 51, "x"])
    def test_invalid_issues_return_400_with_path(self, me: Person, double: AiDouble, issues: Any) -> None:
        error = me.post("/api/ai/seo-fix", {"content": "x", "issues": issues}).fails(400)
        assert error["errorMessage"][0]["path"].startswith("issues")
