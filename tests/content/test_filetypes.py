"""Tests of languages and media types by file name."""

import pytest

from app.content.filetypes import file_type


class TestFileType:
    @pytest.mark.parametrize(
        ("path", "language", "mime"),
        [
            ("a.md", "markdown", "text/markdown"),
            ("docs/B.MDX", "mdx", "text/mdx"),
            ("x/config.yml", "yaml", "application/yaml"),
            ("src/a.d.ts", "typescript", "text/typescript"),
            ("Dockerfile", "dockerfile", "text/x-dockerfile"),
            ("Dockerfile.dev", "dockerfile", "text/x-dockerfile"),
            (".env.local", "dotenv", "text/plain"),
            (".gitignore", "ignore", "text/plain"),
            ("logo.svg", "svg", "image/svg+xml"),
            ("photo.JPEG", None, "image/jpeg"),
            ("no-ending", None, None),
            ("folder.md/name", None, None),
            ("trailing.", None, None),
            (".md", "markdown", "text/markdown"),
            ("", None, None),
        ],
    )
    def test_file_type_is_determined_by_the_file_name(self, path: str, language: str | None, mime: str | None) -> None:
        assert file_type(path) == (language, mime)
