"""Previews of public sites: a first start, a start with cached dependencies, and an unsaved edit in a browser.

`GALLEY_SITES` names a folder with a checkout of each repository in `owner+name`. Without it the tests are skipped.
The tests write a screenshot of each site into its folder `screenshots` and print the times. The variables `SANDBOX_*`
apply to the service.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser

from tests.serving.member import Member, host_of, root_of
from tests.serving.processes import Service, running_prepared
from tests.serving.unsaved_edits import format_times, seconds_until_visible

FOLDER = Path(os.environ.get("GALLEY_SITES") or "/nonexistent")
STARTS = int(os.environ.get("GALLEY_STARTS") or 2)
LOAD_TIMEOUT_MS = 120_000
SETTLE_MS = 2000
CACHE_TIMEOUT_S = 120


class Site(NamedTuple):
    """A repository, the file to edit, the text to replace in it, and the page that shows the file."""

    repository: str
    path: str
    text: str
    page: str


SITES = {
    "html": Site("mdn+beginner-html-site-styled", "index.html", "Mozilla is cool", "/"),
    "html-dist": Site("StartBootstrap+startbootstrap-resume", "dist/index.html", "Interests", "/"),
    "hugo": Site(
        "kuochunchang+hugo-site", "content/posts/python-protocol-vs-abc/index.md", "", "/posts/python-protocol-vs-abc/"
    ),
    "hugo-old": Site("jasonccox+hugo-site", "content/cv.md", "", "/cv/"),
    "hugo-npm": Site("thuliteio+doks", "content/privacy.md", "", "/privacy/"),
    "hugo-npm-2": Site("gohugoio+hugoDocs", "content/en/about/license.md", "", "/about/license/"),
    "hugo-modules": Site("imfing+hextra-starter-template", "content/about.md", "", "/about/"),
    "hugo-modules-npm": Site("google+docsy-example", "content/en/docs/overview.md", "", "/docs/overview/"),
    "jekyll": Site("jekyll+example", "about.md", "", "/about/"),
    "jekyll-bundler": Site("poole+poole", "about.md", "", "/about/"),
    "mkdocs": Site("mkdocs+mkdocs", "docs/getting-started.md", "", "/getting-started/"),
    "material": Site("encode+httpx", "docs/async.md", "", "/async/"),
    "material-plugins": Site("pawamoy+copier-pdm", "docs/requirements.md", "", "/copier-pdm/requirements/"),
    "sphinx": Site("readthedocs+tutorial-template", "docs/source/usage.rst", "", "/usage.html"),
    "sphinx-2": Site("pypa+packaging.python.org", "source/support.rst", "", "/support.html"),
    "eleventy": Site("11ty+eleventy-base-blog", "content/blog/firstpost.md", "", "/blog/firstpost/"),
    "vitepress": Site("nystudio107+vitepress-starter", "docs/docs/pagetwo.md", "", "/pagetwo.html"),
    "vitepress-2": Site("chaizz+vitepress-starter", "docs/index.md", "", "/"),
    "astro": Site("chrismwilliams+astro-theme-cactus", "content/posts/webmentions.md", "", "/posts/webmentions/"),
    "docusaurus": Site("tomrcc+docusaurus-starter", "docs/intro.mdx", "", "/docs/intro"),
    "docusaurus-2": Site("fermanjj+docusaurus-starter", "docs/index.md", "", "/docs/"),
    "hexo": Site("hexojs+hexo-starter", "source/_posts/hello-world.md", "", "/"),
    "hugo-netlify": Site("kubernetes-sigs+kind", "site/content/docs/user/rootless.md", "", "/docs/user/rootless/"),
    "hugo-theme": Site("containerd+containerd.io", "content/roadmap.md", "", "/roadmap/"),
    "hugo-submodule": Site("grpc+grpc.io", "content/en/about/_index.md", "", "/about/"),
    "jekyll-pages": Site("mojombo+mojombo.github.io", "_posts/2016-11-10-snyk.md", "", "/2016/11/10/snyk.html"),
    "jekyll-pages-2": Site("github+choosealicense.com", "about.md", "", "/about/"),
    "mkdocs-material": Site("encode+starlette", "docs/background.md", "", "/background/"),
    "sphinx-pallets": Site("pallets+click", "docs/complex.md", "", "/complex.html"),
    "eleventy-docs": Site("11ty+11ty-website", "src/docs/accessibility.md", "", "/docs/accessibility/"),
    "eleventy-blog": Site("google+eleventy-high-performance-blog", "posts/secondpost.md", "", "/posts/secondpost/"),
    "vitepress-docs": Site("vuejs+docs", "src/about/faq.md", "", "/about/faq.html"),
    "astro-blog": Site("onwidget+astrowind", "src/data/post/landing.md", "", "/landing"),
    "astro-workspace": Site(
        "withastro+starlight", "docs/src/content/docs/getting-started.mdx", "", "/getting-started/"
    ),
    "docusaurus-docs": Site("reduxjs+react-redux", "docs/troubleshooting.md", "", "/troubleshooting"),
    "vitepress-workspace": Site("vitejs+vite", "docs/guide/why.md", "", "/guide/why"),
    "astro-tutorial": Site("withastro+blog-tutorial-demo", "src/pages/posts/post-1.md", "", "/posts/post-1/"),
    "hexo-docs": Site("hexojs+site", "source/docs/commands.md", "", "/docs/commands.html"),
    "sphinx-flask": Site("pallets+flask", "docs/design.rst", "", "/design.html"),
    "next": Site("timlrx+tailwind-nextjs-starter-blog", "data/authors/default.mdx", "", "/about"),
    "gatsby": Site("gatsbyjs+gatsby-starter-blog", "content/blog/new-beginnings/index.md", "", "/new-beginnings/"),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    options = {name: value for name, value in os.environ.items() if name.startswith("SANDBOX_")}
    with running_prepared(tmp_path_factory.mktemp("public"), **options) as service:
        yield service


@pytest.fixture(scope="module")
def owner(service: Service) -> Member:
    return Member(service)


def start(owner: Member, project: str) -> Any:
    """Start a preview. Fail with the message, the step, the hint and the log that a user receives."""
    url = f"{owner.service.base}/api/sandbox/create"
    response = owner.send("POST", url, {"projectId": project}, {"Accept": "application/json"}, timeout_s=600)
    body = response.json()
    if response.status not in (200, 201):
        failure = {**body, **(body.get("result") or {})}
        pytest.fail(
            "\n".join(f"{name}: {failure.get(name)}" for name in ("code", "message", "step", "hint", "log_tail"))
        )
    return body["result"]


def wait_for_cache(owner: Member) -> None:
    """Wait until the dependencies of the running preview are cached. The copy has a low priority."""
    until = time.monotonic() + CACHE_TIMEOUT_S
    while any(root_of(owner.service).glob("*/cache/content")) and time.monotonic() < until:
        time.sleep(0.2)


def edit(site: Site, mark: str) -> str:
    """Return the text of the file with the mark, at its end or after a text of the site."""
    text = (FOLDER / site.repository / site.path).read_text()
    return text.replace(site.text, f"{site.text} {mark}", 1) if site.text else f"{text.rstrip()}\n\n{mark}\n"


def parameter(name: str, site: Site) -> Any:
    """Return the parameter of a site. A mark skips the test before its fixtures start the service."""
    is_missing = not (FOLDER / site.repository).is_dir()
    mark = pytest.mark.skipif(is_missing, reason=f"GALLEY_SITES contains no {site.repository}")
    return pytest.param(name, site, marks=mark, id=name)


@pytest.mark.parametrize(("name", "site"), [parameter(name, site) for name, site in SITES.items()])
def test_public_site_is_served_and_shows_unsaved_edits(owner: Member, browser: Browser, name: str, site: Site) -> None:
    project = owner.connect(FOLDER / site.repository, name)
    times, edits = [], []
    for number in range(STARTS):
        started = time.monotonic()
        preview = start(owner, project)
        try:
            owner.follow(preview["previewUrl"])
            # VitePress serves pages only to clients that accept HTML.
            first = owner.get(host_of(preview) + "/", {"Accept": "text/html"})
            times.append(f"{time.monotonic() - started:.1f}")
            page = browser.new_page(viewport={"width": 1000, "height": 700})
            page.set_default_timeout(LOAD_TIMEOUT_MS)
            page.goto(owner.create(projectId=project)["previewUrl"])
            page.wait_for_timeout(SETTLE_MS)
            if number == 0:
                (FOLDER / "screenshots").mkdir(exist_ok=True)
                page.screenshot(path=FOLDER / "screenshots" / f"{name}.png")
            page.goto(host_of(preview) + site.page)
            page.wait_for_timeout(SETTLE_MS)
            for turn in range(2):
                mark = f"Unsaved{number}{turn}"
                started = time.monotonic()
                file = {"path": site.path, "content": edit(site, mark)}
                owner.create(projectId=project, onlyIfActive=True, uncommittedFile=file)
                edits.append(format_times(seconds_until_visible(owner, page, mark, started)))
            if number == 0:
                page.screenshot(path=FOLDER / "screenshots" / f"{name}-edited.png")
            page.close()
            wait_for_cache(owner)
        finally:
            owner.stop(preview)
        assert first.status in (200, 301, 302), first.text[:2000]
    print(
        f"\n{name}: start to page {' s, '.join(times)} s; edit served/live {' '.join(edits)} s; load {os.getloadavg()[0]:.0f}"
    )
