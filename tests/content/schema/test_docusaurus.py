"""Sites of Docusaurus in several languages: values of the configuration, and folders of originals and translations."""

import pytest

from app.content.schema.docusaurus import CONFIG_FILES, TranslatedSite, originals_by_folder, read_site, roots_of

CONFIG = """
// i18n: { defaultLocale: 'xx' }
const root = process.env.BASE || "/"; /* { [ */
export default {
  tagline: `It's {open`,
  i18n: { locales: ['en', "pt-BR"], localeConfigs: { en: { path: 'x' } }, "defaultLocale": 'en' },
  presets: [["classic", /** @type {Options} */ ({
    docs: { path: './handbook', versions: { 2: { path: 'v2' } }, editUrl: ({ path }) => `https://example.org/${path}` },
    blog: false,
  })]],
  plugins: [
    ['@docusaurus/plugin-content-docs', { id: 'community', path: 'people', sidebarPath: false }],
    [require.resolve("@docusaurus/plugin-content-blog"), { id: "news" }],
    ['docusaurus-plugin-remote-content', { id: 'remote', path: 'elsewhere' }],
  ],
};
"""
FOLDERS = ("", "src/pages/", "i18n/fr/docusaurus-plugin-content-docs/current/a/", "i18n/de/docusaurus-theme-classic/")


def test_read_site_has_the_texts_of_the_configuration_and_the_folders_of_languages() -> None:
    site = read_site("", CONFIG, FOLDERS)
    assert (site.default_language, site.languages) == ("en", ("fr", "pt-BR"))
    assert site.originals == {
        "docs": "handbook",
        "blog": "blog",
        "pages": "src/pages",
        "docs-community": "people",
        "blog-news": "news",
    }


@pytest.mark.parametrize("text", ["", "module.exports = config", "]}{[", "i18n: { defaultLocale: locale, locales: all"])
def test_read_site_without_values_as_texts_has_the_usual_folders(text: str) -> None:
    site = read_site("website", text, ["website/i18n/fr/docusaurus-plugin-content-docs-api/current/", *FOLDERS])
    assert site == TranslatedSite(
        "website",
        "",
        ("fr",),
        {"docs": "website/docs", "blog": "website/blog", "pages": "website/src/pages", "docs-api": "website/api"},
    )


def test_folders_of_translations_have_the_folder_of_their_originals() -> None:
    site = TranslatedSite("", "en", ("fr",), {"docs": "docs", "docs-api": "api", "blog": "blog"})
    plugin = "i18n/fr/docusaurus-plugin-content-"
    assert originals_by_folder([site]) == {
        "docs": "docs",
        f"{plugin}docs/current": "docs",
        "versioned_docs": "versioned_docs",
        f"{plugin}docs": "versioned_docs",
        "api": "api",
        f"{plugin}docs-api/current": "api",
        "api_versioned_docs": "api_versioned_docs",
        f"{plugin}docs-api": "api_versioned_docs",
        "blog": "blog",
        f"{plugin}blog": "blog",
    }


def test_roots_of_are_the_folders_above_those_of_a_site() -> None:
    assert roots_of(["", "docs/a/", "website/src/pages/", "a/b/blog/", "a/b/c/docs/"]) == ["", "website", "a/b"]
    assert "docusaurus.config.ts" in CONFIG_FILES
