"""Tests of the digests of built pages: what counts as a change, and the time of awkward pages."""

import pytest

from app.content.rendered_page import MAX_TITLE, digest_of, tokens_of

PAGE = """\
<!doctype html><html><head><title>The town &amp; its
 hall</title><meta name="generator" content="Hugo 0.121"><meta name="build-date" content="2026-01-02">
<link rel="stylesheet" href="/style.3fa81c0d.css?v=1711111111" integrity="sha256-abc">
<script nonce="r4nd0m" src="/app-BxY3kd9a.js"></script></head>
<body><!-- built 2026-01-02T10:00:00Z --><header>Menu</header><main><h1>Hall</h1><img src="/img/hall_hu_1a2b3c4d.jpg"></main>
<footer>Updated 2026-01-02T10:00:00Z</footer><script>{"buildId":"xYz"}</script></body></html>
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Hugo 0.121", "Hugo 0.160"),
        ('content="2026-01-02"', 'content="2026-03-04"'),
        ("3fa81c0d", "9e8d7c6b"),
        ("v=1711111111", "v=1799999999"),
        ("sha256-abc", "sha256-def"),
        ("r4nd0m", "0th3r"),
        ("BxY3kd9a", "QqW8rt7u"),
        ("built 2026", "built 2027"),
        ("2026-01-02T10:00:00Z</footer>", "2026-01-05T11:30:00Z</footer>"),
        ('"xYz"', '"aBc"'),
        ("</header><main>", "</header>\n\n  <main>"),
    ],
)
def test_values_of_one_build_are_no_difference(old: str, new: str) -> None:
    assert old in PAGE
    assert digest_of(PAGE.replace(old, new)) == digest_of(PAGE)


@pytest.mark.parametrize(
    ("old", "new", "is_content"),
    [
        ("<h1>Hall</h1>", "<h1>Halls</h1>", True),
        ("hall_hu_1a2b3c4d.jpg", "hall_hu_99999999.jpg", True),
        ("<h1>", "<h2>", True),
        ("Menu", "Menus", False),
        ("The town", "A town", False),
        ("</body>", "<script>track()</script></body>", False),
    ],
)
def test_difference_is_in_the_content_or_in_its_frame(old: str, new: str, is_content: bool) -> None:
    before, after = digest_of(PAGE), digest_of(PAGE.replace(old, new))
    assert (before.content != after.content) is is_content
    assert (before.frame != after.frame) is not is_content


def test_title_is_plain_text_of_bounded_length() -> None:
    assert digest_of(PAGE).title == "The town & its hall"
    assert len(digest_of(f"<title>{'a' * 10_000}</title>").title) == MAX_TITLE


def test_title_has_no_control_characters() -> None:
    assert digest_of("<title>a\0b\x1b[31m\x85 &#127;c</title>").title == "ab[31m c"


def test_script_ends_at_its_end_tag_after_letters_with_a_longer_lower_case() -> None:
    page = f"<main>{chr(0x130) * 40}<script>1</script><p>%s</p></main>"
    assert digest_of(page % "a").content != digest_of(page % "b").content
    assert [token.text for token in tokens_of("\u0130<script>1</SCRIPT>a")] == [
        "\u0130",
        "<script>",
        "1",
        "</SCRIPT>",
        "a",
    ]


def test_page_without_main_has_its_text_outside_of_header_and_footer() -> None:
    page = "<body><nav>Menu</nav><p>One</p><footer>End</footer></body>"
    assert digest_of(page.replace("Menu", "Menus")).content == digest_of(page).content
    assert digest_of(page.replace("One", "Two")).content != digest_of(page).content


@pytest.mark.parametrize("page", ["", "<", "<!--", "<script>", "</main></main><main", "\ud800", "<a href='>'>x</a>"])
def test_broken_page_has_a_digest(page: str) -> None:
    assert digest_of(page) == digest_of(page)
