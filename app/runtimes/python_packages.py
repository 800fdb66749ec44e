"""Packages that the configuration of an MkDocs or Sphinx site requires: themes, plugins and extensions."""

import re
from typing import Any, TypeGuard

from app.content.front_matter.yaml_reader import read_yaml

BUILT_IN_PLUGINS = {
    "search",
    "meta",
    "tags",
    "blog",
    "social",
    "privacy",
    "offline",
    "group",
    "info",
    "optimize",
    "typeset",
    "projects",
}
# Packages whose name does not follow from the name of the plugin.
PLUGIN_PACKAGES = {
    "git-revision-date-localized": "mkdocs-git-revision-date-localized-plugin",
    "git-revision-date": "mkdocs-git-revision-date-plugin",
    "git-authors": "mkdocs-git-authors-plugin",
    "git-committers": "mkdocs-git-committers-plugin-2",
    "awesome-pages": "mkdocs-awesome-pages-plugin",
    "awesome-nav": "mkdocs-awesome-nav",
    "minify": "mkdocs-minify-plugin",
    "redirects": "mkdocs-redirects",
    "macros": "mkdocs-macros-plugin",
    "mkdocstrings": "mkdocstrings[python]",
    "gen-files": "mkdocs-gen-files",
    "literate-nav": "mkdocs-literate-nav",
    "section-index": "mkdocs-section-index",
    "monorepo": "mkdocs-monorepo-plugin",
    "include-markdown": "mkdocs-include-markdown-plugin",
    "glightbox": "mkdocs-glightbox",
    "mermaid2": "mkdocs-mermaid2-plugin",
    "rss": "mkdocs-rss-plugin",
    "exclude": "mkdocs-exclude",
    "table-reader": "mkdocs-table-reader-plugin",
    "autorefs": "mkdocs-autorefs",
    "swagger-ui-tag": "mkdocs-swagger-ui-tag",
    "mkdocs-jupyter": "mkdocs-jupyter",
}
BUILT_IN_THEMES = {"mkdocs", "readthedocs"}
THEME_PACKAGES = {"material": "mkdocs-material", "cinder": "mkdocs-cinder", "bootstrap": "mkdocs-bootstrap"}
EXTENSION_PACKAGES = {
    "pymdownx": "pymdown-extensions",
    "callouts": "markdown-callouts",
    "mdx_gh_links": "mdx-gh-links",
    "mkdocs-click": "mkdocs-click",
    "mdx_truly_sane_lists": "mdx-truly-sane-lists",
    "markdown_include": "markdown-include",
}
SPHINX_THEMES = {
    "sphinx_rtd_theme": "sphinx-rtd-theme",
    "furo": "furo",
    "pydata_sphinx_theme": "pydata-sphinx-theme",
    "sphinx_book_theme": "sphinx-book-theme",
    "sphinx_material": "sphinx-material",
    "press": "sphinx-press-theme",
    "shibuya": "shibuya",
    "sphinxawesome_theme": "sphinxawesome-theme",
}
SPHINX_EXTENSIONS = {
    "myst_parser": "myst-parser",
    "myst_nb": "myst-nb",
    "recommonmark": "recommonmark",
    "sphinx_copybutton": "sphinx-copybutton",
    "sphinx_design": "sphinx-design",
    "sphinx_tabs.tabs": "sphinx-tabs",
    "nbsphinx": "nbsphinx",
    "numpydoc": "numpydoc",
    "sphinx_autodoc_typehints": "sphinx-autodoc-typehints",
    "sphinxcontrib.mermaid": "sphinxcontrib-mermaid",
    "sphinx_rtd_theme": "sphinx-rtd-theme",
    "sphinxext.opengraph": "sphinxext-opengraph",
    "sphinx_inline_tabs": "sphinx-inline-tabs",
    "autoapi.extension": "sphinx-autoapi",
    "sphinx_click": "sphinx-click",
    "sphinx_gallery.gen_gallery": "sphinx-gallery",
}


def mkdocs_packages(content: bytes | None) -> list[str]:
    """Return the packages of the theme, plugins and extensions of `mkdocs.yml`."""
    config = _mapping(_load(content))
    theme = config.get("theme")
    name = _mapping(theme).get("name") if isinstance(theme, dict) else theme
    packages = [] if not _is_name(name) or name in BUILT_IN_THEMES else [THEME_PACKAGES.get(name, f"mkdocs-{name}")]
    for plugin in _items(config.get("plugins")):
        plugin_name = next(iter(plugin), None) if isinstance(plugin, dict) else plugin
        if _is_name(plugin_name) and plugin_name not in BUILT_IN_PLUGINS and "/" not in plugin_name:
            packages.append(PLUGIN_PACKAGES.get(plugin_name, f"mkdocs-{plugin_name.removeprefix('mkdocs-')}"))
    for extension in _items(config.get("markdown_extensions")):
        extension_name = next(iter(extension), None) if isinstance(extension, dict) else extension
        package = EXTENSION_PACKAGES.get(str(extension_name).partition(".")[0])
        packages += [package] if package is not None else []
    return list(dict.fromkeys(packages))


def sphinx_packages(content: bytes | None) -> list[str]:
    """Return the packages of the theme and extensions of `conf.py`, which is not executed."""
    config = (content or b"").decode(errors="replace")
    strings = re.findall(r"['\"]([\w.]+)['\"]", config)
    packages = [SPHINX_EXTENSIONS[name] for name in strings if name in SPHINX_EXTENSIONS]
    theme = re.search(r"(?m)^html_theme\s*=\s*['\"]([\w-]+)['\"]", config)
    if theme is not None and theme[1] in SPHINX_THEMES:
        packages.append(SPHINX_THEMES[theme[1]])
    return list(dict.fromkeys(packages))


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and re.fullmatch(r"[^\W\d][\w./-]{0,99}", value) is not None


def _load(content: bytes | None) -> Any:
    try:
        return read_yaml((content or b"").decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | dict) else []


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
