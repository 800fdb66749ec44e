"""Tests of links in texts and of their possible targets."""

import pytest

from app.content.links import MAX_LINKS, Link, can_resolve_to, find_links, is_local, key_of, link_keys
from app.content.site_roots import MediaFolder, SiteRoots


class TestFindLinks:
    @pytest.mark.parametrize(
        ("text", "url", "kind"),
        [
            ("[a](../about.md)", "../about.md", "link"),
            ("[a](</with.md>)", "/with.md", "link"),
            ('[a](/x.md "Title")', "/x.md", "link"),
            ("![a](img/pic_(1).png)", "img/pic_(1).png", "image"),
            ("![a](</img/a (1).png>)", "/img/a (1).png", "image"),
            ("[a](<two words.md>)", "two words.md", "link"),
            ("[a](< b.md >)", "b.md", "link"),
            ("[ref]: </files/price list.pdf> 'Title'", "/files/price list.pdf", "link"),
            ("[![alt](/in.png)](/out/)", "/out/", "link"),
            ("[ref]: /posts/hello/", "/posts/hello/", "link"),
            ("<a href='/contact'>", "/contact", "html"),
            ('<img src="/a.png">', "/a.png", "html"),
            ("[[Hello World|text]]", "Hello World", "wiki"),
            ('{{< ref "posts/hello.md" >}}', "posts/hello.md", "reference"),
            ("{% link _posts/a.md %}", "_posts/a.md", "reference"),
            ('{{< figure src="/i/x.jpg" >}}', "/i/x.jpg", "media"),
            ("url('/font.woff2')", "/font.woff2", "style"),
        ],
    )
    def test_find_links_returns_links_of_each_syntax(self, text: str, url: str, kind: str) -> None:
        assert Link(url, kind) in find_links(f"Some words {text} more." if kind != "link" else text, {})

    def test_find_links_returns_paths_of_front_matter_values(self) -> None:
        values = {"image": "cover.png", "gallery": [{"src": "/g/1.jpg"}], "title": "About/us today", "draft": True}
        assert find_links("", values) == [Link("cover.png", "field"), Link("/g/1.jpg", "field")]
        spaces = {"cover": "/img/a (1).png", "text": "/ and more", "other": "./a b", "file": "/two\nlines.png"}
        assert find_links("", spaces) == [Link("/img/a (1).png", "field")]

    @pytest.mark.parametrize("url", ["https://x.org/a", "//x.org", "mailto:a@b.org", "#top", "data:x", "?q=1", ""])
    def test_find_links_ignores_external_urls(self, url: str) -> None:
        assert not is_local(url)
        assert find_links(f"[a]({url})", {}) == []

    @pytest.mark.parametrize(
        "bait", ["[", "![", "[[", "](", "[a](", "<a href=", "{{< ref ", "url(", "[a]: ", "(" * 40, "[![a]("]
    )
    def test_find_links_of_hostile_text_returns_a_bounded_list(self, bait: str) -> None:
        assert len(find_links(bait * 40_000, {})) <= MAX_LINKS


class TestCanResolveTo:
    @pytest.mark.parametrize(
        ("source", "url", "target"),
        [
            ("content/a.md", "b.md", "content/b.md"),
            ("content/posts/a.md", "../b.md", "content/b.md"),
            ("content/posts/a.md", "/posts/b/", "content/posts/b.md"),
            ("content/posts/a.md", "/posts/b/#part", "content/posts/b/index.md"),
            ("content/posts/a.md", "../b/", "content/posts/b.md"),
            ("content/a.md", "/img/x.png?v=2", "static/img/x.png"),
            ("src/pages/a.astro", "/img/x%20y.png", "public/img/x y.png"),
            ("src/pages/a.astro", "/img/x y.png", "public/img/x y.png"),
            ("content/a.md", "/pier%20%233.png", "static/pier #3.png"),
            ("content/a.md", "/pier #3.png", "static/pier #3.png"),
            ("content/a.md", "/is it?.png", "static/is it?.png"),
            ("content/a.md", "/icons.svg#icon", "static/icons.svg"),
            ("docs/a.md", "/b.html", "docs/b.md"),
            ("content/a.md", "/posts/b", "content/en/posts/b.md"),
            ("README.md", "LICENSE", "LICENSE"),
            ("content/a.md", "/about", "content/about/_index.md"),
            ("src/a.md", "/posts/pier/", "src/posts/pier/pier.md"),
            ("src/a.md", "/posts/pier/pier/", "src/posts/pier/pier.md"),
        ],
    )
    def test_link_of_a_generator_convention_resolves_to_its_target(self, source: str, url: str, target: str) -> None:
        assert can_resolve_to(source, Link(url, "link"), target, SiteRoots())
        assert key_of(url) in link_keys(target)

    @pytest.mark.parametrize(
        ("source", "url", "target"),
        [
            ("content/a.md", "b.md", "content/other/b.md"),
            ("content/a.md", "/b", "content/deep/er/b.md"),
            ("content/a.md", "../../../b.md", "b.md"),
            ("content/a.md", "/b.png", "static/b.jpg"),
        ],
    )
    def test_link_does_not_resolve_to_another_folder(self, source: str, url: str, target: str) -> None:
        assert not can_resolve_to(source, Link(url, "link"), target, SiteRoots())

    def test_wiki_link_resolves_by_name_only(self) -> None:
        assert can_resolve_to("x/a.md", Link("Hello", "wiki"), "y/hello.md", SiteRoots())

    def test_link_of_a_site_below_the_root_resolves_in_its_site(self) -> None:
        image = Link("/img/a.jpg", "field")
        kaldi = SiteRoots("hugo", ("site",))
        assert can_resolve_to("site/content/_index.md", image, "site/static/img/a.jpg", kaldi)
        assert can_resolve_to("site/content/a.md", Link("img/a.jpg", "field"), "site/static/img/a.jpg", kaldi)
        assert can_resolve_to("site/content/a.md", Link("/post/b/", "link"), "site/content/post/b/index.md", kaldi)
        workspace = SiteRoots("nextjs", ("apps/docs", "apps/web"))
        assert can_resolve_to("apps/web/content/a.md", image, "apps/web/public/img/a.jpg", workspace)
        assert not can_resolve_to("apps/web/content/a.md", image, "apps/docs/public/img/a.jpg", workspace)

    @pytest.mark.parametrize(
        ("url", "target"),
        [
            ("~/assets/a.webp", "docs/src/assets/a.webp"),
            ("@/assets/a.webp", "docs/src/assets/a.webp"),
            ("@site/static/a.png", "docs/static/a.png"),
        ],
    )
    def test_link_with_an_alias_resolves_in_the_site_of_its_page(self, url: str, target: str) -> None:
        site, page = SiteRoots("astro", ("docs", "apps/web")), "docs/src/content/docs/index.mdx"
        assert can_resolve_to(page, Link(url, "field"), target, site)
        assert can_resolve_to(page, Link(url, "image"), target, site)
        assert not can_resolve_to("apps/web/src/content/a.md", Link(url, "image"), target, site)

    def test_link_with_the_address_of_a_declared_folder_resolves_to_its_file(self) -> None:
        declared = (MediaFolder("media/photos", "/uploads/"), MediaFolder("covers", "~/covers/"))
        site = SiteRoots(declared=declared)
        assert can_resolve_to("content/a.md", Link("/uploads/2026/a.jpg", "field"), "media/photos/2026/a.jpg", site)
        assert not can_resolve_to("content/a.md", Link("/uploads/a.jpg", "field"), "media/a.jpg", site)
