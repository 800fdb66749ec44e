"""Tests of the position at which the element of a page is inserted. In the samples it is `|`."""

import tracemalloc

import pytest

from app.preview_proxy.page_head import MAX_HEAD_BYTES, MAX_META_BYTES, HeadInsertion

PAGES = [
    "<!doctype html><html><head><title>A</title>|</head><body>B</body></html>",
    "<head>|</HEAD\n>",
    "<head>\n|</head/x>",
    "<html><head><meta charset=utf-8>|<body class='a'>",
    "<!DOCTYPE html PUBLIC '-//W3C//DTD' \"</head\"><title>A</title>\n|<p>B",
    "<title>A</title>|Text<p>",
    "Not found|".replace("Not found|", "|Not found"),
    "<title>A</title>|",
    "<link rel=icon href='data:,</head>'>|<h1>A</h1>",
    '<meta content="a > b </head>">|<main>',
    "<link title=a\"b>|<p title='c\"'>",
    "<link = \"a'>|<p>",
    "<link ='a\"></head><p>'>".replace("</head>", "|</head>"),
    '<link a/b="</head>">|</head>',
    "<link a = '</head>' b>|</head>",
    "<link a=b/>|</head>",
    '<link a=b"c>|</head>"',
    "<!-- </head> --><!--></head>".replace("<!--></head>", "<!-->|</head>"),
    "<!--->|</head>",
    "<!--!></head>--!>|</head>",
    "<!----><!-- - -- -> </head> --->|</head>",
    "<!doctype html></head".replace("</head", "|</head"),
    "<?xml version='1.0'?><!x></ ></>|</head>",
    "<script>'</head>' < '</scripty>'</script>|</head>",
    "<script><!-- <script> </script> </head> --></script>|</head>",
    "<script><!-- <script> </script> </head></script>|</head>",
    "<script><!--></head></script>|</head>",
    "<script><!-- --> <script></script>|</head>",
    "<SCRIPT src=a></ScRiPt\t>|</head>",
    "<title></head><body></title >|</head>",
    "<noscript><img></head></noscript>|</head>",
    "<style></head></styl></style/>|</head>",
    "<template><div></head><template></template><body>Text < a</template>|</head>",
    "<template><textarea></template></head></textarea><svg></template>|</head>",
    "</p></div>|</body>",
    "|<x-card-with-a-name-that-is-long>",
    "</x-card-with-a-name-that-is-long-too a='</head>'>|</head>",
    "<base href='/'><basefont><bgsound>|<frameset>",
    "\ufeff<title>A</title>|<p>",
    "<title>A</title>|\ufeff<p>",
    "  \n|< a",
    "|<",
    "<title>A</title>|</",
    "|<bod",
    "<title>\u65e5\u672c</title>|</head>\u65e5\u672c",
]
UNCHANGED = [
    "",
    "<!-- no end </head>",
    "<script>no end </head>",
    "<title>no end </head>",
    "<template><p>no end</head>",
    "<link href='no end></head>",
    "<!doctype",
]


def inserted(page: bytes, size: int = 1 << 30) -> bytes:
    insertion = HeadInsertion(b"|", lambda tag: tag)
    pieces = [page[start : start + size] for start in range(0, len(page), size)]
    return b"".join([*map(insertion.feed, pieces), insertion.end()])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1 << 30])
@pytest.mark.parametrize("page", PAGES)
def test_element_is_inserted_at_the_end_of_the_head(page: str, size: int) -> None:
    assert inserted(page.replace("|", "").encode(), size) == page.encode()


@pytest.mark.parametrize("size", [1, 3, 1 << 30])
@pytest.mark.parametrize("page", UNCHANGED)
def test_page_that_ends_inside_of_its_head_is_unchanged(page: str, size: int) -> None:
    assert inserted(page.encode(), size) == page.encode()


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "shift_jis", "gb18030", "big5", "euc-kr", "koi8-r"])
def test_page_in_an_encoding_with_ascii_receives_the_element(encoding: str) -> None:
    text = {"iso-8859-1": "h\u00f4tel", "koi8-r": "\u043f\u043e\u0440\u0442", "euc-kr": "\ud55c\uad6d"}.get(
        encoding, "\u8868\u30bd\u80fd"
    )
    page = f"<title>{text}</title>|</head><p>{text}".encode(encoding, "replace")
    assert inserted(page.replace(b"|</head", b"</head")) == page


@pytest.mark.parametrize(
    "page", ["<head></head>".encode("utf-16"), "<head></head>".encode("utf-16-le"), b"\0\0\0<head></head>"]
)
def test_page_in_another_encoding_is_unchanged(page: bytes) -> None:
    assert inserted(page) == page


def test_meta_elements_of_the_head_are_amended_in_any_pieces() -> None:
    page = b"<META a='>'><template><meta b></template><meta c></head><meta d>"
    for size in range(1, len(page)):
        insertion = HeadInsertion(b"|", bytes.upper)
        sent = [insertion.feed(page[start : start + size]) for start in range(0, len(page), size)]
        expected = b"<META A='>'><template><meta b></template><META C>|</head><meta d>"
        assert b"".join([*sent, insertion.end()]) == expected


def test_long_meta_element_is_not_amended() -> None:
    page = b"<meta content='" + b"a" * MAX_META_BYTES + b"'></head>"
    insertion = HeadInsertion(b"|", bytes.upper)
    assert insertion.feed(page) == page.replace(b"</head>", b"|</head>")


def test_pieces_are_passed_at_once() -> None:
    insertion = HeadInsertion(b"|", lambda tag: tag)
    assert insertion.feed(b"<head><link href='a") == b"<head><link href='a"
    assert insertion.feed(b"'><script>let a; </scr") == b"'><script>let "
    assert insertion.feed(b"ipt></he") == b"a; </script>"
    assert insertion.feed(b"ad><body>") == b"|</head><body>"


@pytest.mark.parametrize(
    "token", [b"<link>", b"<!-->", b"<script></script>", b"<!", b"</", b"<script><!--", b"<meta a=", b" a"]
)
def test_buffer_of_a_long_head_is_small(token: bytes) -> None:
    page = b"<template>" + token * (400_000 // len(token))
    insertion = HeadInsertion(b"|", lambda tag: tag)
    tracemalloc.start()
    try:
        size = sum(len(insertion.feed(page[start : start + 10_000])) for start in range(0, len(page), 10_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size + len(insertion.end()) == len(page)
    assert peak < 200_000


def test_page_with_a_too_long_head_is_unchanged() -> None:
    page = b"<style>" + b"a" * MAX_HEAD_BYTES
    insertion = HeadInsertion(b"|", lambda tag: tag)
    assert insertion.feed(page) + insertion.feed(b"</style></head>") == page + b"</style></head>"
