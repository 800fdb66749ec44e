"""Tests of file names from titles and from names of uploads."""

import unicodedata

import pytest

from app.content.slugs import MAX_SLUG_BYTES, SlugForm, file_name_of, slug_of

# Title, file name, name without accents, transliterated name.
TITLES = [
    ("हिन्दी में जानकारी", "हिन्दी-में-जानकारी", "हिन्दी-में-जानकारी", "hindi-mem-jankari"),
    ("ภาษาไทยสวัสดี", "ภาษาไทยสวัสดี", "ภาษาไทยสวัสดี", "phasaaithyswasdi"),
    ("বাংলা তথ্য", "বাংলা-তথ্য", "বাংলা-তথ্য", "bamla-tthy"),
    ("日本語のタイトル", "日本語のタイトル", "日本語のタイトル", "ribenyunotaitoru"),
    ("Über café", "über-café", "uber-cafe", "uber-cafe"),
    ("U\u0308ber cafe\u0301", "über-café", "uber-cafe", "uber-cafe"),
    ("தமிழ் மொழி!", "தமிழ்-மொழி", "தமிழ்-மொழி", "tmil-moli"),
    ("Đường về — nhà", "đường-về-nhà", "đuong-ve-nha", "duong-ve-nha"),
    ("Straße / Ёлка", "strasse-ёлка", "strasse-елка", "strasse-elka"),
    ("İstanbul", "istanbul", "istanbul", "istanbul"),
    ("I \u2764\ufe0f tea\u00ad\u200b", "i-tea", "i-tea", "i-heart-tea"),
    ("می‌خواهم", "میخواهم", "میخواهم", "mykhwhm"),
    ("  -- ", "", "", ""),
]


@pytest.mark.parametrize(("title", "plain", "unaccented", "ascii_name"), TITLES)
def test_slug_has_letters_and_marks_of_its_form(title: str, plain: str, unaccented: str, ascii_name: str) -> None:
    assert slug_of(title) == plain
    assert slug_of(title, SlugForm.UNACCENTED) == unaccented
    assert slug_of(title, SlugForm.ASCII) == ascii_name


@pytest.mark.parametrize("unit", ["a", "ü", "नी", "ที่", "語", "𐐷", "क्षि", "e\u0316\u0317"])
@pytest.mark.parametrize("form", SlugForm)
def test_long_slug_ends_with_a_complete_letter(unit: str, form: SlugForm) -> None:
    slug = slug_of(unit * 400, form)
    complete = slug_of(unit * 10, form)
    assert 20 < len(slug) <= 80
    assert len(slug.encode()) <= MAX_SLUG_BYTES
    assert (complete * 10).startswith(slug)
    following = (complete * 10)[len(slug)]
    assert unicodedata.category(following)[0] != "M"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Fog & Tea (1).JPG", "Fog-Tea-1-.JPG"),
        ("हिन्दी चित्र.png", "हिन्दी-चित्र.png"),
        ("ภาพที่ 1.png", "ภาพที่-1.png"),
        ("বাংলা_ছবি.webp", "বাংলা_ছবি.webp"),
        ("e\u0301te\u0301.png", "été.png"),
        ("..", ""),
    ],
)
def test_name_of_an_upload_has_its_letters_and_marks(name: str, expected: str) -> None:
    assert file_name_of(name) == expected


@pytest.mark.parametrize(
    ("title", "generator", "slug"),
    [
        ("It's the pier", "hugo", "its-the-pier"),
        ("It’s the pier", "astro", "its-the-pier"),
        ("It's the pier", "jekyll", "it-s-the-pier"),
        ("It's the pier", None, "it-s-the-pier"),
        ("Q & A", "hugo", "q-a"),
        ("Q&A", "eleventy", "q-and-a"),
        ("Q & A", "jekyll", "q-a"),
    ],
)
def test_slug_has_apostrophes_and_ampersands_of_the_generator(title: str, generator: str | None, slug: str) -> None:
    assert slug_of(title, generator=generator) == slug
