"""Tests of quotations of the text of built pages: their positions after edits, and their linear time."""

import random

import pytest

from app.content.text_quotes import QuotePosition, TextQuote, find_quote, text_of

WORDS = ["tide", "boat", "pier", "fog", "bell", "rope", "sail", "quay", "net", "buoy", "chart", "wind"]


def page_of(paragraphs: list[str]) -> str:
    body = "".join(f"<p>{text}</p>\n" for text in paragraphs)
    return f"<html><head><title>Tide</title><style>p{{}}</style></head><body><main>{body}</main><script>x</script></body></html>"


def quote_at(text: str, start: int, end: int) -> TextQuote:
    return TextQuote(text[start:end], text[max(0, start - 64) : start], text[end : end + 64])


def test_text_has_no_scripts_styles_and_title() -> None:
    page = "<title>T</title><style>s</style><p>One &amp;\n <b>two</b></p><script>p()</script><!-- c --><p>three</p>"
    assert text_of(page) == "One & twothree"


@pytest.mark.parametrize(
    ("after", "position"),
    [
        ("Before. The tide is high. After.", QuotePosition.UNCHANGED),
        ("New start. Before. The tide is high. After. New end.", QuotePosition.UNCHANGED),
        ("Before. The tide is low. After.", QuotePosition.CHANGED),
        ("Other. The tide is high. Words.", QuotePosition.CHANGED),
        ("Nothing of it.", QuotePosition.MISSING),
        ("Before. The tide is high. After. Before. The tide is high. After.", QuotePosition.MISSING),
        ("a The tide is high. b The tide is high. c", QuotePosition.MISSING),
        ("", QuotePosition.MISSING),
    ],
)
def test_position_after_an_edit(after: str, position: QuotePosition) -> None:
    assert find_quote(after, TextQuote("The tide is high.", "Before. ", " After.")) is position


@pytest.mark.parametrize(
    ("after", "position"),
    [
        ("Menu: tide. Another paragraph.", QuotePosition.MISSING),
        ("At dawn the tide was low.", QuotePosition.CHANGED),
        ("Now the tide is high again.", QuotePosition.CHANGED),
    ],
)
def test_word_needs_a_part_of_its_surroundings(after: str, position: QuotePosition) -> None:
    assert find_quote(after, TextQuote("tide", "At dawn the ", " is high again.")) is position


@pytest.mark.parametrize("seed", range(200))
def test_quotation_is_never_shown_at_another_text(seed: int) -> None:
    """Mark a text by a number that no other text has, edit the page, and compare the position with that number."""
    rng = random.Random(seed)
    paragraphs = [" ".join(rng.choices(WORDS, k=rng.randint(3, 12))) + "." for _ in range(12)]
    chosen = rng.randrange(12)
    text = text_of(page_of(paragraphs))
    start = sum(len(part) + 1 for part in paragraphs[:chosen])
    quote = quote_at(text, start, start + len(paragraphs[chosen]))
    assert quote.exact == paragraphs[chosen]
    numbered = list(enumerate(paragraphs))
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(numbered))
        match rng.choice(["delete", "insert", "copy", "edit", "swap"]):
            case "delete" if len(numbered) > 1:
                del numbered[at]
            case "insert":
                numbered.insert(at, (-1, " ".join(rng.choices(WORDS, k=5)) + "."))
            case "copy":
                numbered.insert(at, (-1, quote.exact))
            case "edit":
                numbered[at] = (-1, numbered[at][1].replace(" ", " new ", 1))
            case _:
                rng.shuffle(numbered)
    after = text_of(page_of([part for _, part in numbered]))
    if find_quote(after, quote) is QuotePosition.UNCHANGED:
        present = after.index(quote.prefix + quote.exact + quote.suffix) + len(quote.prefix)
        offset = 0
        owners = []
        for number, part in numbered:
            owners += [number] if offset == present else []
            offset += len(part) + 1
        assert owners == [chosen] or (chosen not in [number for number, _ in numbered])
