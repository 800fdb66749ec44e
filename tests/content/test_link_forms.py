"""Forms of links between the pages of a site."""

import pytest

from app.content.link_forms import LinkForm, LinkTarget, link_style, link_to

FOG = LinkTarget("content/posts/fog.md", "/posts/fog/")


@pytest.mark.parametrize(
    ("text", "source", "target", "root", "link"),
    [
        ('[a]({{< ref "/docs/x.md" >}})', "content/a.md", FOG, "content", '{{< ref "/posts/fog.md" >}}'),
        ('[a]({{% relref "docs/x" %}})', "content/a.md", FOG, "content", '{{% relref "posts/fog" %}}'),
        (
            '{{< ref "/x" >}}',
            "content/en/a.md",
            LinkTarget("content/en/posts/_index.md", "/posts/"),
            "content/en",
            '{{< ref "/posts" >}}',
        ),
        (
            "[a]({% link b.md %})",
            "a.md",
            LinkTarget("_posts/2026-05-27-fog.md", "/2026/05/27/fog.html"),
            "",
            "{% link _posts/2026-05-27-fog.md %}",
        ),
        (
            "[a]({% post_url 2026-01-01-b %})",
            "a.md",
            LinkTarget("_posts/sea/2026-05-27-fog.md", "/x"),
            "",
            "{% post_url sea/2026-05-27-fog %}",
        ),
        ("[a]({% post_url 2026-01-01-b %})", "a.md", LinkTarget("b.md", "/b/"), "", "{% link b.md %}"),
        ("[a](../b.md)", "docs/guide/a.md", LinkTarget("docs/intro to.md", "/intro/"), "", "../intro%20to.md"),
        ("[a](./b.mdx#part)", "docs/a.md", LinkTarget("docs/sub/c.mdx", "/sub/c/"), "", "./sub/c.mdx"),
        ("[a](/guides/b)", "src/a.md", FOG, "", "/posts/fog"),
        ("[a](/x/guides/b/)", "src/a.md", FOG, "", "/x/posts/fog/"),
        ("[a](/x/guides/b/)", "src/a.md", LinkTarget("docs/index.md", "/"), "", "/x/"),
        ("[a](/x/guides/b/)", "src/a.md", LinkTarget("docs/a.md", "/own", is_written=True), "", "/own"),
        ("[a](/b.html)", "src/a.md", FOG, "", "/posts/fog.html"),
    ],
)
def test_link_has_the_form_of_other_links(text: str, source: str, target: LinkTarget, root: str, link: str) -> None:
    style = link_style(["no link", text, "[a](/other)"], LinkForm.SITE, ["docs/guides/b.md"])
    assert link_to(target, style, source=source, root=root) == link


@pytest.mark.parametrize(
    ("url", "prefix", "root"),
    [
        ("/en/guides/fog/", "", "src/content/docs"),
        ("/guides/fog", "", "src/content/docs/en"),
        ("/handbook/Fog.html", "/handbook", "src/content/docs/en/guides"),
        ("/en/guides/", "", "src/content/docs"),
        ("/other/", "", None),
    ],
)
def test_address_of_a_known_page_shows_prefix_and_folder_of_addresses(url: str, prefix: str, root: str | None) -> None:
    paths = ["src/content/docs/de/guides/fog.mdx", "src/content/docs/en/guides/fog.mdx"]
    paths.append("src/content/docs/en/guides/index.mdx")
    style = link_style([f"[a]({url})"], LinkForm.FILE, paths if url.startswith("/en") else paths[1:])
    assert (style.form, style.prefix, style.root) == (LinkForm.SITE, prefix, root)


@pytest.mark.parametrize(
    ("default", "link"),
    [
        (LinkForm.REF, '{{< ref "/posts/fog.md" >}}'),
        (LinkForm.LINK, "{% link posts/fog.md %}"),
        (LinkForm.FILE, "posts/fog.md"),
        (LinkForm.SITE, "/posts/fog/"),
    ],
)
def test_link_without_an_example_has_the_form_of_the_generator(default: LinkForm, link: str) -> None:
    texts = ["[a](https://example.org/b.md) [b](#part) ![c](/img/a.png) [d](/files/a.pdf) [e](@/f.md)"]
    assert link_to(FOG, link_style(texts, default), source="content/a.md", root="content") == link
