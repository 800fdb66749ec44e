"""A small site for each generator, as the documentation of the generator starts one."""

import json


def package(**dependencies: str) -> bytes:
    """Return the package.json of a site with these dependencies."""
    return json.dumps({"name": "site", "version": "1.0.0", "private": True, "dependencies": dependencies}).encode()


SITES: dict[str, tuple[dict[str, bytes], str]] = {
    "static": ({"index.html": b"<h1>Made by hand</h1>"}, "Made by hand"),
    "hugo": (
        {
            "hugo.toml": b'title = "Hugo"\n',
            "content/_index.md": b"Made by Hugo",
            "layouts/index.html": b"<html><head></head><body>{{ .Content }}</body></html>",
        },
        "Made by Hugo",
    ),
    "eleventy": (
        {"package.json": package(**{"@11ty/eleventy": "3.1.2"}), "index.md": b"# Made by Eleventy"},
        "Made by Eleventy",
    ),
    "astro": (
        {
            "package.json": package(astro="5.14.1"),
            "src/pages/index.astro": b"<html><body>{'Made by ' + 'Astro'}</body></html>",
        },
        "Made by Astro",
    ),
    "vite": (
        {"package.json": package(vite="7.1.9"), "index.html": b"<html><body>Made by Vite</body></html>"},
        "/@vite/client",
    ),
    "next": (
        {
            "package.json": package(next="15.5.4", react="19.1.1", **{"react-dom": "19.1.1"}),
            "app/layout.js": b"export default function Layout({ children }) { return <html><body>{children}</body></html> }\n",
            "app/page.js": b"export default function Page() { return <h1>{'Made by ' + 'Next.js'}</h1> }\n",
        },
        "Made by Next.js",
    ),
    "mkdocs": (
        {
            "mkdocs.yml": b"site_name: Docs\n",
            "requirements.txt": b"mkdocs==1.6.1\n",
            "docs/index.md": b"# Made by MkDocs",
        },
        "Made by MkDocs",
    ),
    "jekyll": (
        {
            "_config.yml": b"title: Jekyll\n",
            "index.md": b"---\nlayout: default\n---\n\nMade by *Jekyll*\n",
            "_layouts/default.html": b"<html><body>{{ content }}</body></html>",
        },
        "Made by <em>Jekyll</em>",
    ),
}
QUICK = ("static", "hugo")
"""Generators that need no installation."""
