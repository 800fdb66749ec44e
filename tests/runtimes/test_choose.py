"""Tests of the choice of a site recipe from the files of a repository."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.runtimes.choose import DetectionHints, RuntimeNotDetected, choose_recipe
from app.runtimes.jekyll import INSTALL_GEMS, RUN_WITH_GEMS
from app.runtimes.node import WITHOUT_LOCK
from app.runtimes.python_sites import BUILD_THEN_SERVE, INSTALL_PACKAGE
from app.runtimes.recipe import PreviewAddress, Recipe

ADDRESS = PreviewAddress("http://label.preview.localhost:8000/", 8000)


def chosen(*paths: str, **contents: str) -> Recipe:
    files = dict.fromkeys(paths, b"") | {name.replace("__", "/"): text.encode() for name, text in contents.items()}
    return choose_recipe(files, files.get, ADDRESS)


def package(files: dict[str, bytes] | None = None, **manifest: object) -> Recipe:
    found = {"package.json": json.dumps(manifest).encode(), **(files or {})}
    return choose_recipe(found, found.get, ADDRESS)


class TestHugo:
    @pytest.mark.parametrize(
        "paths",
        [
            ["hugo.toml"],
            ["hugo.yaml", "index.html"],
            ["config.toml", "content/a.md"],
            ["config.yaml", "layouts/index.html"],
            ["hugo.toml", "package.json"],
        ],
    )
    def test_hugo_is_detected_by_its_files(self, paths: list[str]) -> None:
        found = chosen(*paths)
        assert found.serve[:2] == ("hugo", "server")
        assert found.tools == ("hugo",)
        assert found.install == ()

    def test_hugo_receives_the_url_and_port_of_the_preview(self) -> None:
        serve = chosen("hugo.toml").serve
        assert serve[serve.index("--baseURL") + 1] == ADDRESS.url
        assert serve[serve.index("--liveReloadPort") + 1] == "8000"
        assert "--appendPort=false" in serve

    def test_hugo_site_in_a_folder_is_served_from_the_folder(self) -> None:
        assert chosen("README.md", "docs/hugo.toml", "docs/content/a.md").folder == "docs"

    def test_site_in_the_root_precedes_sites_in_folders(self) -> None:
        assert chosen("hugo.toml", "example/package.json").folder == ""

    def test_deep_and_installed_folders_are_ignored(self) -> None:
        with pytest.raises(RuntimeNotDetected):
            chosen("a/b/c/hugo.toml", "node_modules/x/package.json")


class TestNode:
    @pytest.mark.parametrize(
        ("dependency", "program"),
        [
            ("astro", "astro"),
            ("next", "next"),
            ("nuxt", "nuxt"),
            ("gatsby", "gatsby"),
            ("@11ty/eleventy", "eleventy"),
            ("vite", "vite"),
        ],
    )
    def test_dependency_decides_the_server(self, dependency: str, program: str) -> None:
        found = package(dependencies={dependency: "1"}, scripts={"dev": "something else"})
        assert found.serve[0] == program
        assert any("{port}" in part for part in found.serve)

    def test_generator_precedes_its_bundler(self) -> None:
        assert package(dependencies={"astro": "1"}, devDependencies={"vite": "1"}).serve[0] == "astro"

    @pytest.mark.parametrize(
        ("scripts", "expected"),
        [({"dev": "x", "start": "y"}, "dev"), ({"start": "y", "serve": "z"}, "start"), ({"develop": "d"}, "develop")],
    )
    def test_package_without_a_known_dependency_runs_its_script(self, scripts: dict[str, str], expected: str) -> None:
        assert package(scripts=scripts).serve == ("npm", "run", expected)

    @pytest.mark.parametrize(
        ("lock", "manager"),
        [
            ("pnpm-lock.yaml", "pnpm@10 -- pnpm install --frozen-lockfile"),
            ("yarn.lock", "yarn@1.22.22 -- yarn install --frozen-lockfile"),
            ("package-lock.json", "npm ci"),
            ("nothing", "npm install"),
        ],
    )
    def test_lock_file_decides_the_package_manager(self, lock: str, manager: str) -> None:
        found = package({lock: b"lock"}, dependencies={"astro": "1"})
        assert manager in " ".join(found.install[0])

    def test_package_without_dependencies_has_no_installation(self) -> None:
        assert package(scripts={"dev": "x"}).install == ()

    def test_dependencies_key_is_equal_for_equal_lock_files_only(self) -> None:
        one = package({"package-lock.json": b"1"}, dependencies={"astro": "1"})
        same = package({"package-lock.json": b"1"}, dependencies={"astro": "1"})
        other = package({"package-lock.json": b"2"}, dependencies={"astro": "1"})
        assert one.dependencies == same.dependencies
        assert one.dependencies != other.dependencies
        assert package(dependencies={"astro": "1"}).dependencies is None

    @pytest.mark.parametrize("text", ["{", "[]", '"x"', "null", "[" * 100_000, '{"scripts": 3, "dependencies": []}'])
    def test_invalid_manifest_is_ignored(self, text: str) -> None:
        found = {"package.json": text.encode(), "index.html": b""}
        assert choose_recipe(found, found.get, ADDRESS).serve[:3] == ("python3", "-m", "http.server")


class TestOtherGenerators:
    def test_jekyll_with_a_gemfile_uses_bundler(self) -> None:
        found = chosen("_config.yml", "Gemfile", "index.html")
        assert found.serve[4:6] == ("jekyll", "serve")
        assert found.install == (("sh", "-c", INSTALL_GEMS),)

    @pytest.mark.parametrize(
        ("gemfile", "program"),
        [
            (b"gem 'github-pages', group: :x", "jekyll"),
            (b'  gem "jekyll", "~> 4"', "jekyll"),
            (b"gem 'rails'", "python3"),
        ],
    )
    def test_jekyll_without_a_configuration_is_found_by_its_gem(self, gemfile: bytes, program: str) -> None:
        files = {"Gemfile": gemfile, "index.html": b"", "_posts/2016-11-10-a.md": b""}
        assert program in choose_recipe(files, files.get, ADDRESS).serve

    @pytest.mark.parametrize(
        ("satisfied", "output"),
        [
            (True, ["$ bundle exec jekyll serve", "bundle exec jekyll serve"]),
            (False, ["The gems of", "$ jekyll serve", "jekyll serve (no bundler: true)"]),
        ],
    )
    def test_jekyll_of_the_system_serves_without_the_gems_of_the_site(
        self, tmp_path: Path, satisfied: bool, output: list[str]
    ) -> None:
        bundle = f'[ "$1" = check ] && exit {int(not satisfied)}; [ "$1" = install ] && exit 5; echo "bundle $@"'
        programs = {"bundle": bundle, "jekyll": 'echo "jekyll $@ (no bundler: $JEKYLL_NO_BUNDLER_REQUIRE)"'}
        for name, text in programs.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        gems = tmp_path / "gems"
        (gems / "cache").mkdir(parents=True)
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "GEM_HOME": str(gems)}
        subprocess.run(["sh", "-c", INSTALL_GEMS], env=environment, check=True)
        assert [*gems.iterdir()] == ([gems / "cache"] if satisfied else [])
        command = ["sh", "-c", RUN_WITH_GEMS, "sh", "jekyll", "serve"]
        served = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        assert [line[: len(start)] for line, start in zip(served.splitlines(), output, strict=True)] == output

    @pytest.mark.parametrize(
        ("files", "is_installed"),
        [
            ({"pyproject.toml": b"[project]\nname = 'a'"}, True),
            ({"setup.py": b""}, True),
            ({"pyproject.toml": b"[tool.x]"}, False),
        ],
    )
    def test_sphinx_installs_the_package_of_the_repository(self, files: dict[str, bytes], is_installed: bool) -> None:
        found = {"docs/conf.py": b"extensions = []\n"}
        plain, recipe = (choose_recipe(one, one.get, ADDRESS) for one in (found, found | files))
        assert [INSTALL_PACKAGE in command for command in recipe.install] == [is_installed], "one run of pip"
        assert (recipe.dependencies != plain.dependencies) is is_installed

    def test_mkdocs_serves_a_site_in_strict_mode(self) -> None:
        assert "--no-strict" in chosen("mkdocs.yml").serve

    def test_mkdocs_with_requirements_installs_them(self) -> None:
        assert chosen("mkdocs.yml", "requirements.txt").install[0][-3:] == ("-r", "requirements.txt", "mkdocs")
        assert chosen("mkdocs.yml").install[0][-1] == "mkdocs"

    @pytest.mark.parametrize(
        ("config", "program"),
        [
            ("mkdocs.yml", "mkdocs"),
            ("hugo.toml", "hugo"),
            ("_config.yml", "jekyll"),
            ("astro.config.mjs", "astro"),
            (".eleventy.js", "eleventy"),
            ("docusaurus.config.ts", "docusaurus"),
            ("next.config.js", "next"),
        ],
    )
    def test_choose_recipe_configuration_precedes_bare_package(self, config: str, program: str) -> None:
        manifest = {"scripts": {"dev": "x"}, "devDependencies": {"prettier": "1"}}
        files = {"package.json": json.dumps(manifest).encode(), config: b""}
        assert program in choose_recipe(files, files.get, ADDRESS).serve

    def test_choose_recipe_generator_in_folder_precedes_root_script(self) -> None:
        root = {"scripts": {"dev": "turbo dev"}, "devDependencies": {"turbo": "1"}}
        site = {"dependencies": {"@docusaurus/core": "3"}}
        files = {"package.json": json.dumps(root).encode(), "website/package.json": json.dumps(site).encode()}
        assert choose_recipe(files, files.get, ADDRESS).folder == "website"

    def test_choose_recipe_configured_folder_precedes_dependency_of_the_root(self) -> None:
        root = {"devDependencies": {"astro": "7"}}
        site = {"dependencies": {"astro": "7"}}
        files = {"package.json": json.dumps(root).encode(), "docs/package.json": json.dumps(site).encode()}
        sample = {f"examples/{name}": b"{}" for name in ("package.json", "astro.config.mjs")}
        assert choose_recipe({**files, **sample}, {**files, **sample}.get, ADDRESS).folder == ""
        files["docs/astro.config.mjs"] = b""
        assert choose_recipe(files, files.get, ADDRESS).folder == "docs"

    @pytest.mark.parametrize(
        ("files", "is_in_root"),
        [
            ({"pnpm-workspace.yaml": b"", "pnpm-lock.yaml": b"lockfileVersion: '9.0'"}, True),
            ({"package.json": b'{"workspaces": ["site"]}', "package-lock.json": b"{}"}, True),
            ({"package.json": b"{}", "package-lock.json": b"{}"}, False),
            ({"package.json": b'{"workspaces": ["site"]}', "site/apps/docs/yarn.lock": b""}, False),
        ],
    )
    def test_choose_recipe_installs_the_workspace_of_a_site(self, files: dict[str, bytes], is_in_root: bool) -> None:
        site = {
            "site/apps/docs/package.json": b'{"dependencies": {"astro": "7"}}',
            "site/apps/docs/astro.config.mjs": b"",
        }
        files = {"package.json": b'{"devDependencies": {"prettier": "1"}}', **files, **site}
        recipe = choose_recipe(files, files.get, ADDRESS, DetectionHints("site/apps/docs"))
        assert recipe.folder == "site/apps/docs"
        assert ('cd ../../.. && exec "$@"' in recipe.install[0]) is is_in_root
        assert recipe.program_folders == ("site/apps/docs/node_modules/.bin", "node_modules/.bin")

    def test_choose_recipe_sample_folder_follows_site_folder(self) -> None:
        assert chosen("example/hugo.toml", "website/hugo.toml").folder == "website"

    def test_choose_recipe_content_folder_decides_in_monorepo(self) -> None:
        files = dict.fromkeys(("apps/one/hugo.toml", "apps/two/hugo.toml", "apps/two/content/a.md"), b"")
        hints = DetectionHints("apps/two/content")
        assert choose_recipe(files, files.get, ADDRESS, hints).folder == "apps/two"

    def test_choose_recipe_hugo_with_dependencies_installs_them(self) -> None:
        files = {"hugo.toml": b"", "package.json": json.dumps({"devDependencies": {"postcss": "8"}}).encode()}
        recipe = choose_recipe(files, files.get, ADDRESS)
        assert (recipe.serve[0], recipe.install) == ("hugo", (WITHOUT_LOCK,))

    def test_choose_recipe_hugo_modules_use_the_proxy(self) -> None:
        files = {"hugo.toml": b"[module]\n[[module.imports]]\npath = 'x'", "go.mod": b"module a\nrequire x v1"}
        recipe = choose_recipe(files, files.get, ADDRESS, DetectionHints(module_proxy="https://go.example.org"))
        assert recipe.prepare[0] == ("hugo", "mod", "graph")
        assert "go" in recipe.tools
        assert recipe.environment["HUGO_MODULE_PROXY"] == recipe.environment["GOPROXY"] == "https://go.example.org"

    @pytest.mark.parametrize(
        ("name", "config", "has_modules"),
        [
            ("hugo.toml", b"theme = ['github.com/a/b']", True),
            ("hugo.yaml", b"theme:\n  - github.com/a/b", True),
            ("config/_default/module.yml", b"imports:\n- path: x", True),
            ("hugo.json", b'{"module": {\n"imports": [{"path": "x"}]}}', True),
            ("hugo.toml", b"theme = 'docsy'", False),
            ("hugo.toml", b"title = 'github.com/a'", False),
        ],
    )
    def test_choose_recipe_hugo_needs_go_for_imports_only(self, name: str, config: bytes, has_modules: bool) -> None:
        files = {name: config, "go.mod": b"module a\nrequire github.com/gohugoio/hugo v0.1.0", "content/a.md": b""}
        assert ("go" in choose_recipe(files, files.get, ADDRESS).tools) is has_modules

    @pytest.mark.parametrize(("name", "ignored"), [("hugo-extended", "true"), ("hugo-bin", "true"), ("postcss", None)])
    def test_choose_recipe_hugo_of_a_package_is_not_downloaded(self, name: str, ignored: str | None) -> None:
        recipe = package({"hugo.toml": b""}, devDependencies={name: "1"})
        assert recipe.environment.get("npm_config_ignore_scripts") == ignored

    def test_choose_recipe_hugo_works_without_git_history(self) -> None:
        assert chosen("hugo.toml").environment["HUGO_ENABLEGITINFO"] == "false"

    @pytest.mark.parametrize(
        ("proxy", "database"), [("https://proxy.golang.org", None), ("https://go.example.org", "off")]
    )
    def test_choose_recipe_hugo_uses_the_checksum_database_of_the_public_proxy(
        self, proxy: str, database: str | None
    ) -> None:
        files = {"hugo.toml": b""}
        recipe = choose_recipe(files, files.get, ADDRESS, DetectionHints(module_proxy=proxy))
        assert recipe.environment.get("GOSUMDB") == database

    def test_choose_recipe_jekyll_serves_the_root_of_the_preview(self) -> None:
        serve = chosen("_config.yml").serve
        assert serve[serve.index("--baseurl") + 1] == ""

    @pytest.mark.parametrize(
        ("files", "python"),
        [
            ({"mkdocs.yml": b"", ".python-version": b"3.12.1\n"}, "==3.12.*"),
            ({"docs/mkdocs.yml": b"", "docs/runtime.txt": b"3.13"}, "==3.13.*"),
            ({".galley.yml": b"preview: {command: python3 serve.py}", ".python-version": b"3.12"}, "==3.12.*"),
            ({"mkdocs.yml": b""}, None),
            ({"hugo.toml": b"", ".python-version": b"3.12"}, None),
        ],
    )
    def test_choose_recipe_python_site_declares_its_version(self, files: dict[str, bytes], python: str | None) -> None:
        assert choose_recipe(files, files.get, ADDRESS).python == python

    def test_choose_recipe_vitepress_serves_the_folder_of_its_configuration(self) -> None:
        files = {
            "package.json": json.dumps({"devDependencies": {"vitepress": "1"}}).encode(),
            "guide/.vitepress/config.mts": b"",
        }
        assert choose_recipe(files, files.get, ADDRESS).serve[:3] == ("vitepress", "dev", "guide")

    @pytest.mark.parametrize("path", ["docs/conf.py", "conf.py", "doc/source/conf.py"])
    def test_choose_recipe_sphinx_installs_theme_and_extensions_of_its_configuration(self, path: str) -> None:
        files = {path: b"extensions = ['myst_parser', 'sphinx.ext.autodoc']\nhtml_theme = 'furo'\n"}
        install = choose_recipe(files, files.get, ADDRESS).install[0]
        assert install[-4:] == ("sphinx", "sphinx-autobuild", "myst-parser", "furo")

    def test_choose_recipe_mkdocs_installs_theme_and_plugins_of_its_configuration(self) -> None:
        text = "theme: {name: material}\nplugins: [search, redirects, minify: {}]\nextra: !ENV [A, b]\n"
        files = {"mkdocs.yml": text.encode()}
        install = choose_recipe(files, files.get, ADDRESS).install[0]
        assert install[-4:] == ("mkdocs", "mkdocs-material", "mkdocs-redirects", "mkdocs-minify-plugin")

    @pytest.mark.parametrize(
        ("files", "expected"),
        [
            ({"docs/requirements.txt": b"mkdocs-material"}, ("-r", "docs/requirements.txt")),
            ({"requirements-docs.txt": b"mkdocs==1.6", "requirements.txt": b"flask"}, ("-r", "requirements-docs.txt")),
            (
                {"pyproject.toml": b"[dependency-groups]\ndocs = ['mkdocs>=1', 'mkdocs-material']"},
                ("mkdocs>=1", "mkdocs-material"),
            ),
            ({"pyproject.toml": b"[project.optional-dependencies]\nx = ['mkdocs']"}, ("mkdocs",)),
        ],
    )
    def test_choose_recipe_mkdocs_reads_lists_of_requirements(
        self, files: dict[str, bytes], expected: tuple[str, ...]
    ) -> None:
        files = {"mkdocs.yml": b"theme: material", **files}
        install = choose_recipe(files, files.get, ADDRESS).install[0]
        assert set(expected) <= set(install)
        assert "flask" not in " ".join(install)

    def test_choose_recipe_mkdocs_ignores_lists_without_the_generator(self) -> None:
        project = b"[project.optional-dependencies]\nmin-versions = ['click ==7.0', 'mkdocs-get-deps ==0.2.0']"
        config = b"markdown_extensions: [toc, pymdownx.highlight: {}, callouts, mdx_gh_links: {user: x}]"
        files = {"mkdocs.yml": config, "pyproject.toml": project}
        install = choose_recipe(files, files.get, ADDRESS).install[0]
        assert install[-4:] == ("mkdocs", "pymdown-extensions", "markdown-callouts", "mdx-gh-links")

    @pytest.mark.parametrize("value", ["5", "[5]", "{5: 5}", "[[]]", "[{}]"])
    @pytest.mark.parametrize("name", ["theme", "plugins", "markdown_extensions", "theme: {name", "theme: {custom_dir"])
    def test_mkdocs_options_of_another_type_add_no_package(self, name: str, value: str) -> None:
        files = {"mkdocs.yml": f"{name}: {value}{'}' * name.count('{')}\n".encode()}
        assert choose_recipe(files, files.get, ADDRESS).install[0][-1] == "mkdocs"

    def test_requirements_of_every_group_that_names_the_generator_are_installed(self) -> None:
        project = (
            "[project.optional-dependencies]\ndocs = ['mkdocs-material']\ntest = ['pytest']\n"
            "[dependency-groups]\nsite = ['MkDocs>=1.6', {include-group = 'plugins'}]\nplugins = ['mkdocs-rss-plugin']\n"
            "[tool.poetry.group.pages.dependencies]\nmkdocs = '^1.6'\nmkdocs-redirects = '^1'\n"
        )
        files = {
            "mkdocs.yml": b"",
            "pyproject.toml": project.encode(),
            "requirements/docs.txt": b"mkdocs\n",
            "docs-requirements.in": b"mkdocs\n",
            "requirements.txt": b"flask\n",
        }
        arguments = choose_recipe(files, files.get, ADDRESS).install[0]
        assert "requirements/docs.txt" in arguments
        assert "docs-requirements.in" in arguments
        listed = {"mkdocs-material", "MkDocs>=1.6", "mkdocs-rss-plugin", "mkdocs", "mkdocs-redirects"}
        assert listed <= set(arguments)
        assert {"pytest", "requirements.txt"}.isdisjoint(arguments)

    @pytest.mark.parametrize(
        ("files", "module"),
        [
            ({"zensical.toml": b"", "mkdocs.yml": b""}, "zensical"),
            ({"mkdocs.yml": b"", "pyproject.toml": b"[dependency-groups]\ndocs = ['zensical']"}, "zensical"),
            ({"mkdocs.yml": b"markdown_extensions:\n  - zensical.extensions.emoji\n"}, "zensical"),
            ({"mkdocs.yml": b"", "requirements.txt": b"mkdocs\nfuro\n"}, "mkdocs"),
        ],
    )
    def test_zensical_is_detected_by_its_files(self, files: dict[str, bytes], module: str) -> None:
        recipe = choose_recipe(files, files.get, ADDRESS)
        assert module in (recipe.serve[2], recipe.serve[3])
        assert any(part.startswith(module) for part in recipe.install[0])

    def test_pelican_builds_the_site_before_it_listens(self) -> None:
        recipe = chosen("pelicanconf.py", "content/a.md")
        assert recipe.serve[:5] == ("python3", "-c", BUILD_THEN_SERVE, "pelican", "content")
        assert "--listen" in recipe.serve[recipe.serve.index("--then") :]
        assert "pelican[markdown]" in recipe.install[0]

    @pytest.mark.parametrize(("status", "lines"), [(0, ["build", "serve"]), (3, ["build"])])
    def test_server_follows_a_successful_build(self, tmp_path: Path, status: int, lines: list[str]) -> None:
        (tmp_path / "tool.py").write_text(f"import sys; print(sys.argv[1]); sys.exit({status})")
        command = [sys.executable, "-c", BUILD_THEN_SERVE, "tool", "build", "--then", "tool", "serve"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == status
        assert [line for line in done.stdout.splitlines() if not line.startswith("$")] == lines

    @pytest.mark.parametrize(
        "project", ["dependencies = 5", "optional-dependencies = 5", "optional-dependencies.docs = 5"]
    )
    def test_dependencies_of_another_type_are_ignored(self, project: str) -> None:
        files = {"mkdocs.yml": b"", "pyproject.toml": f"[project]\n{project}\n".encode()}
        assert choose_recipe(files, files.get, ADDRESS).install[0][-1] == "mkdocs"

    @pytest.mark.parametrize("folder", ["", "public", "docs", "dist"])
    def test_plain_pages_are_served_as_static_files(self, folder: str) -> None:
        path = f"{folder}/index.html" if folder else "index.html"
        assert chosen(path).folder == folder

    @pytest.mark.parametrize(
        ("scripts", "preview", "is_noted"),
        [
            ({"build:css": "tailwindcss -i a.css -o static/a.css --watch"}, b"", True),
            ({"build": "hugo --minify"}, b"", False),
            ({"build:css": "tailwindcss -i a.css"}, b"preview: {command: npm run dev}", False),
        ],
    )
    def test_style_that_another_command_builds_is_noted(
        self, scripts: dict[str, str], preview: bytes, is_noted: bool
    ) -> None:
        note = package({"hugo.toml": b"", ".galley.yml": preview or b"{}"}, scripts=scripts).note
        assert (note is not None) == is_noted
        assert note is None or "“build:css”" in note

    def test_repository_without_a_site_raises_runtime_not_detected(self) -> None:
        with pytest.raises(RuntimeNotDetected):
            chosen("README.md", "src/main.c")


class TestNodeVersion:
    def test_engines_of_the_site_are_the_range(self) -> None:
        recipe = package(dependencies={"astro": "5"}, engines={"node": ">=22.12"})
        assert (recipe.tools, recipe.node) == (("node",), ">=22.12")

    def test_version_file_precedes_engines(self) -> None:
        recipe = package({".nvmrc": b"20\n"}, scripts={"dev": "x"}, engines={"node": ">=18"})
        assert (recipe.tools, recipe.node) == (("node",), "^20")

    def test_hugo_with_dependencies_needs_both_programs(self) -> None:
        recipe = package({"hugo.toml": b""}, devDependencies={"postcss": "8"}, engines={"node": "20"})
        assert (recipe.tools, recipe.node) == (("node", "hugo"), "20")

    def test_commands_of_the_options_need_their_programs(self) -> None:
        options = b"preview: {install: [npm ci], command: bundle exec jekyll serve}"
        assert package({".galley.yml": options}, name="x").tools == ("bundle", "node")
