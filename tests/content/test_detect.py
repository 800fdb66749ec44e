"""Tests of the detection of generators and frameworks in a repository."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.content.detect import DetectedSite, detect, may_change_site


class Files:
    """Files in memory with a count of the read files."""

    def __init__(self, files: dict[str, bytes | None]) -> None:
        self.files, self.reads = files, 0
        self.folders: dict[str, set[str]] = {}
        for path in files:
            *above, name = path.split("/")
            self._add("", above, name)

    def names(self, folder: str) -> frozenset[str]:
        self.reads += 1
        return frozenset(self.folders.get(folder, ()))

    def read(self, path: str) -> bytes | None:
        self.reads += 1
        return self.files.get(path)

    def _add(self, folder: str, above: list[str], name: str) -> None:
        if not above:
            self.folders.setdefault(folder, set()).add(name)
            return
        self.folders.setdefault(folder, set()).add(f"{above[0]}/")
        self._add(f"{folder}{above[0]}/", above[1:], name)


def detected(files: dict[str, bytes]) -> DetectedSite:
    return detect(Files(dict(files)))


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
            ({"vite.config.ts": b"", "package.json": needs("svelte", "vite")}, "vite", "svelte"),
            ({"vite.config.js": b""}, "vite", "vite"),
            ({"vite.config.ts": b"", "package.json": needs("@sveltejs/kit")}, "sveltekit", "svelte"),
            ({"docusaurus.config.ts": b"", "package.json": needs("@docusaurus/core")}, "docusaurus", "react"),
            ({"package.json": needs("@docusaurus/core", "react")}, "docusaurus", "react"),
            ({".vitepress/config.mts": b"", "index.md": b""}, "vitepress", "vue"),
            ({"package.json": needs("vitepress")}, "vitepress", "vue"),
            ({"mkdocs.yml": b"", "docs/index.md": b""}, "mkdocs", "mkdocs"),
            ({"conf.py": b"", "index.rst": b""}, "sphinx", "sphinx"),
            ({"conf.py": b"", "main.py": b""}, None, None),
            ({"gatsby-config.js": b"", "package.json": needs("gatsby")}, "gatsby", "react"),
            ({"package.json": needs("@tanstack/react-start", "react")}, "tanstack", "react"),
            ({"package.json": needs("@tanstack/solid-start", "solid-js")}, "tanstack", "solid"),
            ({"index.html": b"", "style.css": b""}, "static", "static"),
            ({"index.html": b"", "package.json": needs("vite", "react")}, "vite", "react"),
            ({"package.json": needs("preact")}, None, "preact"),
            ({"README.md": b""}, None, None),
            ({}, None, None),
        ],
    )
    def test_detect_returns_generator_and_framework(
        self, files: dict[str, bytes], generator: str | None, framework: str | None
    ) -> None:
        assert detected(files) == (generator, framework)

    def test_detect_of_a_monorepo_reads_its_packages(self) -> None:
        files = {
            "package.json": needs("react", "turbo"),
            "apps/web/package.json": needs("next"),
            "node_modules/astro/package.json": needs("astro"),
        }
        assert detected(files) == ("nextjs", "react")

    @pytest.mark.parametrize(
        ("files", "generator"),
        [
            ({"setup.py": b"", "docs/conf.py": b"", "docs/index.rst": b""}, "sphinx"),
            ({"setup.py": b"", "docs/source/conf.py": b"", "docs/source/index.rst": b""}, "sphinx"),
            ({"package.json": needs("lodash"), "docs/.vitepress/config.ts": b""}, "vitepress"),
            ({"Cargo.toml": b"", "blog/hugo.toml": b""}, "hugo"),
            ({"go.mod": b"", "website/docusaurus.config.js": b""}, "docusaurus"),
        ],
    )
    def test_detect_of_a_repository_with_a_site_folder_returns_its_generator(
        self, files: dict[str, bytes], generator: str
    ) -> None:
        assert detected(files).generator == generator

    @pytest.mark.parametrize(
        "manifest", [b"", b"[]", b"{", b"\xff", b'{"dependencies": ["next"]}', b"[" * 100_000, b"null"]
    )
    def test_detect_with_an_invalid_manifest_returns_none(self, manifest: bytes) -> None:
        assert detected({"package.json": manifest}) == (None, None)

    def test_detect_with_unreadable_files_returns_none(self) -> None:
        assert detect(Files({"package.json": None, "config.toml": None, "content/a.md": None})) == (None, None)

    def test_detect_of_a_large_repository_reads_few_files(self) -> None:
        paths = [f"p{n}/package.json" for n in range(500)] + [f"content/{n}.md" for n in range(2_000)]
        files = Files(dict.fromkeys(paths))
        detect(files)
        assert files.reads <= 20

    @given(st.lists(st.text()), st.binary())
    def test_detect_accepts_any_paths_and_bytes(self, paths: list[str], data: bytes) -> None:
        files = Files(dict.fromkeys([*paths, "package.json", "_config.yml", "Gemfile"], data))
        assert isinstance(detect(files), DetectedSite)


class TestMayChangeSite:
    @pytest.mark.parametrize("path", ["hugo.toml", "site/mkdocs.yml", "config/_default/hugo.toml", ".vitepress/a.ts"])
    def test_file_of_a_generator_counts_when_it_is_created_or_deleted(self, path: str) -> None:
        assert may_change_site(path, is_update=False)
        assert not may_change_site(path, is_update=True)

    def test_file_with_dependencies_counts_after_a_change_of_its_content(self) -> None:
        assert may_change_site("apps/web/package.json", is_update=True)

    def test_page_does_not_count(self) -> None:
        assert not may_change_site("content/posts/hugo.md", is_update=False)
