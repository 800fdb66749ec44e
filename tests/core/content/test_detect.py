"""Generators and frameworks by what lies in a repository."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.content.detect import Detection, detect


def found(files: dict[str, bytes]) -> Detection:
    return detect(files.keys(), files.get)


def needs(*names: str) -> bytes:
    return json.dumps(
        {"dependencies": dict.fromkeys(names[:1], "1"), "devDependencies": dict.fromkeys(names[1:], "1")}
    ).encode()


class TestDetect:
    @pytest.mark.parametrize(
        ("files", "generator", "framework"),
        [
            ({"hugo.toml": b"", "content/a.md": b""}, "hugo", "hugo"),
            ({"config.toml": b'baseURL = "x"', "archetypes/default.md": b""}, "hugo", "hugo"),
            ({"config/_default/hugo.toml": b""}, "hugo", "hugo"),
            ({"config.toml": b"[package]", "content/a.md": b""}, None, None),
            ({"hugo.yaml": b"", "package.json": needs("alpinejs")}, "hugo", "alpine"),
            ({"astro.config.mjs": b"", "package.json": needs("astro", "react")}, "astro", "react"),
            ({"astro.config.ts": b""}, "astro", "astro"),
            ({"package.json": needs("astro", "@astrojs/svelte", "svelte")}, "astro", "svelte"),
            ({"next.config.js": b"", "package.json": needs("next", "react")}, "nextjs", "react"),
            ({"package.json": needs("react", "next")}, "nextjs", "react"),
            ({".eleventy.js": b"", "package.json": needs("@11ty/eleventy")}, "eleventy", "eleventy"),
            ({"eleventy.config.mjs": b""}, "eleventy", "eleventy"),
            ({"_config.yml": b"", "_posts/2024-01-01-a.md": b""}, "jekyll", "jekyll"),
            ({"_config.yml": b"", "Gemfile": b"gem 'Jekyll'", "package.json": needs("prettier")}, "jekyll", "jekyll"),
            ({"_config.yml": b"", "index.md": b""}, "jekyll", "jekyll"),
            ({"_config.yml": b"", "package.json": needs("hexo")}, None, None),
            ({"nuxt.config.ts": b"", "package.json": needs("nuxt")}, "nuxt", "vue"),
            ({"svelte.config.js": b"", "package.json": needs("svelte", "@sveltejs/kit")}, "sveltekit", "svelte"),
            ({"svelte.config.js": b"", "package.json": needs("svelte", "vite")}, None, "svelte"),
            ({"gatsby-config.js": b"", "package.json": needs("gatsby")}, "gatsby", "react"),
            ({"package.json": needs("@tanstack/react-start", "react")}, "tanstack", "react"),
            ({"package.json": needs("@tanstack/solid-start", "solid-js")}, "tanstack", "solid"),
            ({"index.html": b"", "style.css": b""}, "static", "static"),
            ({"index.html": b"", "package.json": needs("vite", "react")}, None, "react"),
            ({"package.json": needs("preact")}, None, "preact"),
            ({"README.md": b""}, None, None),
            ({}, None, None),
        ],
    )
    def test_tells_what_it_is_built_with(
        self, files: dict[str, bytes], generator: str | None, framework: str | None
    ) -> None:
        assert found(files) == (generator, framework)

    def test_looks_into_the_packages_of_a_monorepo(self) -> None:
        files = {
            "package.json": needs("react", "turbo"),
            "apps/web/package.json": needs("next"),
            "node_modules/astro/package.json": needs("astro"),
        }
        assert found(files) == ("nextjs", "react")

    @pytest.mark.parametrize(
        "manifest", [b"", b"[]", b"{", b"\xff", b'{"dependencies": ["next"]}', b"[" * 100_000, b"null"]
    )
    def test_unreadable_manifest_tells_nothing(self, manifest: bytes) -> None:
        assert found({"package.json": manifest}) == (None, None)

    def test_file_that_cannot_be_read_tells_nothing(self) -> None:
        assert detect(["package.json", "config.toml", "content/a.md"], lambda path: None) == (None, None)

    def test_reads_few_files_however_many_there_are(self) -> None:
        asked: list[str] = []
        paths = [f"p{n}/package.json" for n in range(500)] + [f"content/{n}.md" for n in range(2_000)]
        detect(paths, lambda path: asked.append(path))
        assert len(asked) <= 12

    @given(st.lists(st.text()), st.binary())
    def test_any_paths_and_bytes_are_taken(self, paths: list[str], data: bytes) -> None:
        assert isinstance(detect([*paths, "package.json", "_config.yml", "Gemfile"], lambda path: data), Detection)
