"""Tests of the folders of sites, and of the folders that they publish."""

from collections.abc import Sequence

import pytest

from app.content.detect import may_contain_site
from app.content.site_roots import SiteRoots, site_folders

KALDI = ["package.json", "site/hugo.toml", "site/static/admin/config.yml"]


@pytest.mark.parametrize(
    ("paths", "generator", "content", "folders"),
    [
        ([], "hugo", "", [""]),
        (["hugo.toml"], "hugo", "", [""]),
        (KALDI, "hugo", "", ["site"]),
        (["docs/config/_default/config.toml"], "hugo", "", ["docs"]),
        (["config.toml", "exampleSite/config.toml"], "hugo", "", ["", "exampleSite"]),
        (["package.json", "website/docusaurus.config.ts"], "docusaurus", "", ["website"]),
        (["docs/.vitepress/config.mts", "package.json"], "vitepress", "", ["docs"]),
        (["docs/_config.yml"], "jekyll", "", ["docs"]),
        (["apps/web/astro.config.mjs", "apps/docs/astro.config.mjs"], "astro", "", ["apps/docs", "apps/web"]),
        (
            ["apps/web/astro.config.mjs", "apps/docs/astro.config.mjs"],
            "astro",
            "apps/web/src/content",
            ["apps/web", "apps/docs"],
        ),
        (["package.json", "apps/web/package.json"], "nextjs", "", ["", "apps/web"]),
        (["apps/web/package.json"], None, "", ["", "apps/web"]),
    ],
)
def test_sites_are_the_folders_with_a_configuration(
    paths: Sequence[str], generator: str | None, content: str, folders: Sequence[str]
) -> None:
    assert list(site_folders(paths, generator, content)) == folders


@pytest.mark.parametrize(
    ("path", "site"),
    [
        ("apps/web/src/content/a.md", "apps/web"),
        ("apps/docs/src/content/a.md", "apps/docs"),
        ("README.md", "apps/docs"),
        ("apps/web/astro.config.mjs", "apps/web"),
    ],
)
def test_site_of_a_file_is_the_nearest_one_or_the_main_one(path: str, site: str) -> None:
    assert SiteRoots("astro", ("apps/docs", "apps/web")).site_of(path) == site
    assert SiteRoots("astro", ("",)).site_of(path) == ""


@pytest.mark.parametrize(
    ("site", "page", "folders"),
    [
        (SiteRoots(), "posts/a.md", ["static", "public"]),
        (SiteRoots("docusaurus", ("website",)), "docs/a.md", ["website/static", "website/public"]),
        (SiteRoots("hugo", ("site",)), "site/content/a.md", ["site/static", "site/assets", "site/content"]),
        (SiteRoots("hugo", ("site",)), "site/content/a/index.md", ["site/static", "site/assets"]),
        (SiteRoots("hugo", ("site",), content="pages"), "pages/a.md", ["site/static", "site/assets", "pages"]),
    ],
)
def test_roots_are_below_the_site_of_the_page(site: SiteRoots, page: str, folders: Sequence[str]) -> None:
    assert [root.folder for root in site.roots(page)] == folders
    assert {root.address for root in site.roots(page)} == {"/"}


def test_sites_are_searched_in_folders_of_the_root_and_of_packages() -> None:
    folders = ["", "site", "apps/web", "docs/site", "content/posts", "apps/web/src", ".github", "_site"]
    assert list(filter(may_contain_site, folders)) == folders[:4]
