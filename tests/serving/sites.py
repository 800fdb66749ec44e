"""A small site for each generator, as the documentation of the generator starts one."""

import json
from typing import NamedTuple


class Site(NamedTuple):
    """The files of a site, a text of its front page, and the file that contains the words “Made by”.

    `reloads` is False if open pages do not follow changes.
    """

    files: dict[str, bytes]
    expected: str
    source: str
    reloads: bool = True


def package(**dependencies: str) -> bytes:
    """Return the package.json of a site with these dependencies."""
    return json.dumps({"name": "site", "version": "1.0.0", "private": True, "dependencies": dependencies}).encode()


def pages(folder: str, ending: str) -> dict[str, bytes]:
    """Return ten further pages."""
    return {f"{folder}/page{n}.{ending}": b"Page\n====\n\n" + b"Words of the page.\n" * 40 for n in range(10)}


SITES: dict[str, Site] = {
    "static": Site({"index.html": b"<h1>Made by hand</h1>"}, "Made by hand", "index.html", reloads=False),
    "hugo": Site(
        {
            "hugo.toml": b'title = "Hugo"\n',
            "content/_index.md": b"Made by Hugo",
            "layouts/index.html": b"<html><head></head><body>{{ .Content }}</body></html>",
        },
        "Made by Hugo",
        "content/_index.md",
    ),
    "eleventy": Site(
        {"package.json": package(**{"@11ty/eleventy": "3.1.2"}), "index.md": b"# Made by Eleventy"},
        "Made by Eleventy",
        "index.md",
    ),
    "astro": Site(
        {
            "package.json": package(astro="5.14.1"),
            "src/pages/index.astro": b"<html><body>{'Made by ' + 'Astro'}</body></html>",
        },
        "Made by Astro",
        "src/pages/index.astro",
    ),
    "vite": Site(
        {"package.json": package(vite="7.1.9"), "index.html": b"<html><body>Made by Vite</body></html>"},
        "/@vite/client",
        "index.html",
    ),
    "next": Site(
        {
            "package.json": package(next="15.5.4", react="19.1.1", **{"react-dom": "19.1.1"}),
            "app/layout.js": b"export default function Layout({ children }) { return <html><body>{children}</body></html> }\n",
            "app/page.js": b"export default function Page() { return <h1>{'Made by ' + 'Next.js'}</h1> }\n",
        },
        "Made by Next.js",
        "app/page.js",
    ),
    "mkdocs": Site(
        {
            "mkdocs.yml": b"site_name: Docs\n",
            "requirements.txt": b"mkdocs==1.6.1\n",
            "docs/index.md": b"# Made by MkDocs",
        },
        "Made by MkDocs",
        "docs/index.md",
    ),
    "jekyll": Site(
        {
            "_config.yml": b"title: Jekyll\n",
            "index.md": b"---\nlayout: default\n---\n\nMade by *Jekyll*\n",
            "_layouts/default.html": b"<html><body>{{ content }}</body></html>",
        },
        "Made by <em>Jekyll</em>",
        "index.md",
        reloads=False,
    ),
    "material": Site(
        {
            "mkdocs.yml": b"site_name: Docs\ntheme: material\nplugins: [search, tags]\n",
            "docs/index.md": b"# Made by Material",
            **pages("docs", "md"),
        },
        "Made by Material",
        "docs/index.md",
    ),
    "sphinx": Site(
        {
            "docs/conf.py": b'project = "Docs"\nextensions = ["myst_parser"]\nhtml_theme = "furo"\n',
            "docs/index.rst": b"Made by Sphinx\n==============\n\n.. toctree::\n   :glob:\n\n   pages/*\n",
            **pages("docs/pages", "rst"),
        },
        "Made by Sphinx",
        "docs/index.rst",
    ),
    "vitepress": Site(
        {"package.json": package(vitepress="1.6.4"), "docs/index.md": b"# Made by VitePress", **pages("docs", "md")},
        "/@vite/client",
        "docs/index.md",
    ),
    "docusaurus": Site(
        {
            "package.json": package(
                **{"@docusaurus/core": "3.10.2", "@docusaurus/preset-classic": "3.10.2"},
                react="19.1.1",
                **{"react-dom": "19.1.1"},
            ),
            "docusaurus.config.js": (
                b"module.exports = { title: 'Docs', url: 'http://localhost', baseUrl: '/',\n"
                b"  presets: [['classic', { docs: { routeBasePath: '/' }, blog: false }]] };\n"
            ),
            "docs/index.md": b"# Made by Docusaurus",
            **pages("docs", "md"),
        },
        "<title>Docs</title>",
        "docs/index.md",
    ),
}
QUICK = ("static", "hugo")
"""Generators that need no installation."""
