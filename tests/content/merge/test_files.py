"""Tests of the merge of one file: by type, with conflicts of whole files and hostile inputs."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.content.front_matter.item_diff import MISSING
from app.content.merge.files import ConflictKind, FileConflicts, LineRange, MergedFile, merge_file
from app.content.three_way import Replacement

POST = b"---\ntitle: Hello # shown\ntags: [a, b]\ndraft: false\n---\n\n# Hello\n\nThe quick fox jumps over the dog.\n\nEnd.\n"


def merged(path: str, base: bytes, mine: bytes, theirs: bytes) -> bytes:
    result = merge_file(path, base, mine, theirs)
    assert isinstance(result, MergedFile), result
    assert result.data is not None
    return result.data


def conflicts(path: str, base: bytes | None, mine: bytes | None, theirs: bytes | None) -> list[tuple[object, ...]]:
    result = merge_file(path, base, mine, theirs)
    assert isinstance(result, FileConflicts), result
    return [(one.kind, one.pointer, one.block, one.lines) for one in result.conflicts]


class TestPages:
    def test_fields_and_words_of_both_sides_are_merged(self) -> None:
        mine = POST.replace(b"Hello #", b"Hi #").replace(b"quick", b"slow")
        theirs = POST.replace(b"false", b"true # now").replace(b"dog", b"cat").replace(b"[a, b]", b"[a, b, c]")
        result = merge_file("a.md", POST, mine, theirs)
        expected = theirs.replace(b"Hello #", b"Hi #").replace(b"quick", b"slow")
        assert result == MergedFile(expected, ("/title",))

    def test_keys_that_both_add_at_the_end_keep_their_notation(self) -> None:
        mine = POST.replace(b"false\n", b"false\npublished: no\nstart: 2024-05-01\n")
        theirs = POST.replace(b"false\n", b"false\nweight: 010 # old\n")
        end = b"false\npublished: no\nstart: 2024-05-01\nweight: 010 # old\n"
        assert merged("a.md", POST, mine, theirs) == POST.replace(b"false\n", end)

    def test_line_that_both_changed_is_written_in_the_notation_of_the_side_with_more_changes(self) -> None:
        base = b"+++\ndates = [2024-01-01]\nweight = 1\n+++\n"
        mine, theirs = (base.replace(b"01]", added) for added in (b"01, 2024-01-02]", b"01, 2024-01-03,]"))
        theirs = theirs.replace(b"1\n+++", b"2\n+++")
        assert merged("a.md", base, mine, theirs) == theirs.replace(b"01, ", b"01, 2024-01-02, ")

    def test_comment_in_a_line_that_both_changed_is_not_lost(self) -> None:
        mine = POST.replace(b"[a, b]", b"[a, b, c] # mine")
        theirs = POST.replace(b"[a, b]", b"[b]")
        assert merged("a.md", POST, mine, theirs) == POST.replace(b"[a, b]", b"[b, c] # mine")
        assert conflicts("a.md", POST, mine, POST.replace(b"[a, b]", b"[b] # theirs")) == [
            (ConflictKind.LINES, None, None, LineRange(3, 3))
        ]

    def test_values_replace_front_matter_that_a_side_has_removed(self) -> None:
        base, mine = b"---\ntitle: A\ntags: [a] # all\n---\nText\n", b"Text\n"
        theirs = base.replace(b"title: A", b"title: B")
        for first, second in ((mine, theirs), (theirs, mine)):
            choice = Replacement({"title": "C", "tags": ["a"]})
            merged = merge_file("a.md", base, first, second, [choice])
            assert isinstance(merged, MergedFile)
            assert merged.data == base.replace(b"title: A", b"title: C")
            assert isinstance(merge_file("a.md", base, first, second, [Replacement("C")]), FileConflicts)

    def test_resolution_with_characters_outside_of_the_encoding_makes_the_file_utf_8(self) -> None:
        base, mine, theirs = (f"Caf\xe9\n\n{word}\n".encode("latin-1") for word in ("one", "two", "three"))
        merged = merge_file("a.txt", base, mine, theirs, [Replacement("5 \u20ac\n")])
        assert isinstance(merged, MergedFile)
        assert merged.data == "Caf\xe9\n\n5 \u20ac\n".encode()

    def test_choices_resolve_the_conflicts_in_their_order(self) -> None:
        base = POST.replace(b"End.\n", b"End.\nSame.\nLast.\n")
        mine, theirs = (base.replace(b"Hello #", word).replace(b"End", word) for word in (b"Mine #", b"Theirs #"))
        theirs = theirs.replace(b"dog", b"cat").replace(b"Last", b"Final")
        assert merge_file("a.md", base, mine, theirs, ["theirs", "mine"]) == MergedFile(
            theirs.replace(b"Theirs #.\nSame.\nFinal", b"Mine #.\nSame.\nLast")
        )
        assert merge_file("a.md", base, mine, theirs, ["mine", "both"]) == MergedFile(
            theirs.replace(b"Theirs # ", b"Mine # ").replace(b"Theirs #.", b"Mine #.\nTheirs #."), ("/title",)
        )
        assert isinstance(merge_file("a.md", base, mine, theirs, ["mine"]), FileConflicts)

    def test_code_is_merged_by_line(self) -> None:
        for fence, end in (("```js\n", "```\n"), ("", "")):
            base = f"{fence}import {{ a }} from 'x';\nlet b;\nlet c;\n{end}".encode()
            mine, theirs = base.replace(b"{ a }", b"{ a, m }"), base.replace(b"let c", b"let d")
            assert merged("a.mdx", base, mine, theirs) == theirs.replace(b"{ a }", b"{ a, m }")
            theirs = base.replace(b"'x'", b"'y'")
            assert conflicts("a.mdx", base, mine, theirs) == [(ConflictKind.BLOCK, None, 0, None)]

    def test_conflicts_name_the_value_and_the_block(self) -> None:
        mine, theirs = (POST.replace(b"Hello #", word).replace(b"End", word) for word in (b"Mine #", b"Theirs #"))
        assert conflicts("a.md", POST, mine, theirs) == [
            (ConflictKind.VALUE, "/title", None, None),
            (ConflictKind.BLOCK, None, 2, None),
        ]

    def test_front_matter_that_one_side_removed_is_a_conflict_with_its_changes(self) -> None:
        result = merge_file("a.md", POST, POST.replace(b"Hello #", b"Hi #"), POST.partition(b"---\n\n")[2])
        assert isinstance(result, FileConflicts)
        [conflict] = result.conflicts
        assert (conflict.kind, conflict.pointer, conflict.theirs) == (ConflictKind.VALUE, "", MISSING)

    def test_change_of_the_dialect_is_a_conflict_with_a_change_of_a_value(self) -> None:
        toml = b'+++\ntitle = "Hello"\ntags = ["a", "b"]\ndraft = false\n+++\n' + POST.partition(b"\n---\n")[2]
        assert conflicts("a.md", POST, toml, POST.replace(b"Hello #", b"Hi #"))[0][:2] == (ConflictKind.VALUE, "")

    def test_added_front_matter_of_both_sides_is_merged(self) -> None:
        mine, theirs = b"---\na: 1\n---\nText\n", b"---\nb: 2\n---\nText\n"
        assert merged("a.md", b"Text\n", mine, theirs) == b"---\na: 1\nb: 2\n---\nText\n"

    def test_byte_order_mark_and_line_ends_are_kept(self) -> None:
        base = b"\xef\xbb\xbf" + POST.replace(b"\n", b"\r\n")
        mine, theirs = base.replace(b"quick", b"slow"), base.replace(b"false", b"true").replace(b"[a, b]", b"[b]")
        assert merged("a.md", base, mine, theirs) == theirs.replace(b"quick", b"slow")
        assert merged("a.md", base, mine, theirs[3:]) == theirs[3:].replace(b"quick", b"slow")

    def test_paragraph_that_both_add_near_other_edits_occurs_once(self) -> None:
        base = b"a\n\np\n\nq\n\nz\n"
        mine, theirs = b"A\n\np\n\nNew\n\nq\n\nz\n", b"a\n\np\n\nNew\n\nq\n\nZ\n"
        assert merged("a.md", base, mine, theirs) == mine.replace(b"z", b"Z")

    def test_long_text_is_merged_by_line(self) -> None:
        lines = [b"%d\n\n" % number for number in range(5_001)]
        mine, theirs = [b"mine\n", *lines], [*lines, b"theirs\n"]
        assert merged("a.md", b"".join(lines), b"".join(mine), b"".join(theirs)) == b"".join([*mine, b"theirs\n"])
        assert conflicts("a.md", b"".join(lines), b"x" + b"".join(lines), b"y" + b"".join(lines)) == [
            (ConflictKind.LINES, None, None, LineRange(1, 1))
        ]

    def test_long_block_that_both_changed_is_a_conflict(self) -> None:
        words = b"word " * 10_001
        assert conflicts("a.md", words, b"mine " + words, words + b"theirs")[0][0] == ConflictKind.BLOCK

    def test_fenced_code_with_empty_lines_is_one_block(self) -> None:
        base = b"```\na\n\nb\n```\n\nText\n"
        assert conflicts("a.md", base, base.replace(b"a", b"x"), base.replace(b"a", b"y")) == [
            (ConflictKind.BLOCK, None, 0, None)
        ]
        mine, theirs = base.replace(b"a", b"x"), base.replace(b"Text", b"New")
        assert merged("a.md", base, mine, theirs) == mine.replace(b"Text", b"New")


class TestData:
    @pytest.mark.parametrize(
        ("path", "base", "mine", "theirs", "expected"),
        [
            ("a.json", '{"a": 1, "b": 2}', '{"a": 5, "b": 2}', '{"a": 1, "b": 6}', '{"a": 5, "b": 6}'),
            ("a.json", '{"a": 1.5}', '{"a": 1.5, "b": 1}', '{"c": 1, "a": 1.5}', '{"c": 1, "a": 1.5, "b": 1}'),
            ("a.toml", "[x]\na = 1\n", "[x]\na = 1\nb = 1\n", "[x]\na = 1\nc = 1\n", "[x]\na = 1\nb = 1\nc = 1\n"),
            ("a.yml", "# top\na: 1\n", "# top\na: 1\nb: yes\n", "# top\nc: 1\na: 1\n", "# top\nc: 1\na: 1\nb: yes\n"),
            ("a.yml", "- a\n- b\n", "- x\n- a\n- b\n", "- a\n- c\n", "- x\n- a\n- c\n"),
        ],
    )
    def test_edits_of_both_sides_are_merged(self, path: str, base: str, mine: str, theirs: str, expected: str) -> None:
        assert merged(path, base.encode(), mine.encode(), theirs.encode()) == expected.encode()

    def test_list_at_the_root_is_merged_by_item(self) -> None:
        assert conflicts("a.yml", b"- id: a\n", b"- id: b\n", b"- id: c\n") == [
            (ConflictKind.VALUE, "/items", None, None)
        ]
        assert conflicts("a.json", b"[1]\n", b"[2]\n", b"[3]\n")[0][1] == "/items"
        assert merged("a.json", b"[1, 2]\n", b"[2]\n", b"[1]\n") == b"[]\n"

    def test_key_that_both_add_at_different_positions_occurs_once(self) -> None:
        base = b"a: 1\nb: 1\nc: 1\n"
        assert merged("a.yml", base, b"x: 1\n" + base.replace(b"b: 1", b"b: 2"), base + b"x: 1\n") == (
            b"x: 1\n" + base.replace(b"b: 1", b"b: 2")
        )

    def test_comment_of_a_removed_key_that_the_other_side_changed_is_a_conflict(self) -> None:
        base = b"a: 1\nb: 2 # old\nc: 3\n"
        assert conflicts("a.yml", base, base.replace(b"b: 2 # old\n", b""), base.replace(b"old", b"new")) == [
            (ConflictKind.LINES, None, None, LineRange(2, 2))
        ]

    def test_new_alias_is_not_replaced_by_its_value(self) -> None:
        base = b"a: &x 1\nb: {c: 1}\n"
        mine, theirs = base.replace(b"{c: 1}", b"{c: 1, d: *x}"), base.replace(b"&x 1", b"&x 2")
        assert conflicts("a.yml", base, mine, theirs)[0][0] == ConflictKind.LINES

    def test_key_that_occurs_twice_in_one_of_several_documents_is_a_conflict(self) -> None:
        base = b"%YAML 1.2\n---\na: 1\nb: 1\n---\nc: 1\n"
        mine, theirs = base.replace(b"a: 1", b"x: 1\na: 1"), base.replace(b"b: 1", b"b: 1\nx: 2")
        assert conflicts("a.yml", base, mine, theirs)[0][0] == ConflictKind.LINES
        theirs = base.replace(b"c: 1", b"c: 1\nx: 2")
        assert merged("a.yml", base, mine, theirs) == mine.replace(b"c: 1", b"c: 1\nx: 2")

    def test_items_with_comments_of_both_sides_keep_their_positions(self) -> None:
        base = b'a = [\n  "x", # one\n  "y",\n  # two\n  "z",\n]\n'
        mine, theirs = base.replace(b'"x"', b'"x1"').replace(b"two", b"2"), base.replace(b'"z"', b'"z1", # last')
        assert merged("a.toml", base, mine, theirs) == mine.replace(b'"z"', b'"z1", # last')

    def test_objects_with_comments_that_both_append_are_in_the_order_of_mine(self) -> None:
        base = b'[[a]]\nid = "x"\n'
        mine, theirs = (base + b'\n# %b\n[[a]]\nid = "%b"\n' % (name, name) for name in (b"m", b"t"))
        assert merged("a.toml", base, mine, theirs) == mine + theirs.removeprefix(base)

    @pytest.mark.parametrize("number", ["123456789012345678901", "NaN", "Infinity"])
    def test_number_that_would_become_text_is_not_written(self, number: str) -> None:
        base = '{"a": 1, "b": 1}'
        mine, theirs = base.replace('"a": 1', f'"a": {number}'), base.replace('"b": 1', '"b": 2')
        expected = theirs.replace('"a": 1', f'"a": {number}')
        assert merged("a.json", *(text.encode() for text in (base, mine, theirs))) == expected.encode()


NAV = b"nav:\n- {id: home, label: Home}\n- {id: news, label: News}\n- {id: contact, label: Contact}\n"


class TestOrders:
    @pytest.mark.parametrize("key", ["id", "slug", "name", "path", "url", "href", "key", "title", "text"])
    def test_order_of_one_side_and_label_of_the_other_are_merged(self, key: str) -> None:
        base = NAV.replace(b"id", key.encode())
        lines = base.splitlines(keepends=True)
        moved = b"".join([lines[0], lines[3], *lines[1:3]])
        mine = base.replace(b"Home}", b"Start}")
        expected = moved.replace(b"Home}", b"Start}")
        if key == "text":  # An item that one side moves and the other one changes needs an identity.
            mine, expected = base.replace(b"News}", b"New}"), moved.replace(b"News}", b"New}")
        assert merged("a.yml", base, mine, moved) == merged("a.yml", base, moved, mine) == expected

    def test_orders_of_both_sides_conflict(self) -> None:
        base, mine, theirs = (f"a: [{items}]\n".encode() for items in ("x, y, z", "y, x, z", "z, x, y"))
        assert conflicts("a.yml", base, mine, theirs) == [(ConflictKind.VALUE, "/a", None, None)]
        assert merged("a.yml", base, mine, mine.replace(b"z", b"z, n")) == b"a: [y, x, z, n]\n"

    def test_item_that_a_side_puts_first_stays_first(self) -> None:
        base, mine, theirs = (f"a: [{items}]\n".encode() for items in ("x, y", "x, y, last", "first, x, y"))
        assert merged("a.yml", base, mine, theirs) == b"a: [first, x, y, last]\n"
        assert merged("a.yml", base, mine, b"a: [y, x]\n") == b"a: [y, x, last]\n"

    def test_item_between_items_that_the_other_side_separates_is_a_conflict(self) -> None:
        base, mine, theirs = (f"a: [{items}]\n".encode() for items in ("x, y, z", "x, n, y, z", "y, z, x"))
        assert conflicts("a.yml", base, mine, theirs) == [(ConflictKind.VALUE, "/a", None, None)]

    def test_keys_of_a_mapping_keep_the_order_of_the_side_that_moved_them(self) -> None:
        base, moved = b'{"home": 1, "news": 2, "contact": 3}', b'{"contact": 3, "home": 1, "news": 2}'
        assert merged("a.json", base, base.replace(b"2", b"5"), moved) == moved.replace(b"2", b"5")
        assert conflicts("a.json", base, b'{"home": 1, "contact": 3, "news": 2}', moved)[0][:2] == ("value", "")

    def test_item_that_both_replaced_is_a_conflict_unless_it_is_a_word(self) -> None:
        base, mine, theirs = b"a: [Turn left]\n", b"a: [Turn hard left]\n", b"a: [Turn left here]\n"
        assert conflicts("a.yml", base, mine, theirs)[0][1] == "/a"
        assert conflicts("a.yml", b"a: [10.50]\n", b"a: [10.90]\n", b"a: [12.50]\n")[0][1] == "/a"
        assert merged("a.yml", b"a: [old]\n", b"a: [one]\n", b"a: [two]\n") == b"a: [one, two]\n"

    def test_items_without_identity_are_merged_by_position(self) -> None:
        base = b"menu:\n- {text: Home, to: /}\n- {text: News, to: /n}\n"
        mine = base.replace(b"to: /n", b"to: /news") + b"- {text: More, to: /m}\n"
        theirs = base.replace(b"Home", b"Start").replace(b"News", b"Latest")
        expected = mine.replace(b"Home", b"Start").replace(b"News", b"Latest")
        assert merged("a.yml", base, mine, theirs) == merged("a.yml", base, theirs, mine) == expected

    def test_item_that_a_side_moves_next_to_one_that_the_other_side_moves_is_a_conflict(self) -> None:
        a, b, c, d = ({"text": name, "weight": 1} for name in "abcd")
        base, mine, theirs = (
            json.dumps(side).encode()
            for side in ([a, b, c, d], [d, a | {"weight": 2}, b, c], [b, a, c | {"weight": 2}, d])
        )
        assert conflicts("a.json", base, mine, theirs)[0][:2] == (ConflictKind.VALUE, "/items")
        assert conflicts("a.json", base, theirs, mine)[0][:2] == (ConflictKind.VALUE, "/items")


class TestNotations:
    @pytest.mark.parametrize("key", ["lastmod", "updated"])
    def test_times_that_cannot_be_compared_are_a_conflict(self, key: str) -> None:
        versions = [f"---\n{key}: {time}\n---\n".encode() for time in ("May 1, 2024", "May 2, 2024", "May 3, 2024")]
        assert conflicts("a.md", *versions) == [(ConflictKind.VALUE, f"/{key}", None, None)]
        days = [f"---\n{key}: 2024-05-0{day}\n---\n".encode() for day in (1, 3, 2)]
        assert merged("a.md", *days) == merged("a.md", days[0], *days[:0:-1]) == days[1]
        assert conflicts("a.md", days[0], days[1], b"---\na: 1\n---\n")[0][1] == f"/{key}"

    def test_number_keeps_the_digits_of_a_side(self) -> None:
        base = b'{"version": 1.9, "a": 1}'
        result = merge_file("a.json", base, base.replace(b"1.9", b"1.10"), base.replace(b'"a": 1', b'"a": 2'))
        assert result == MergedFile(b'{"version": 1.10, "a": 2}', ("/version",)) or isinstance(result, FileConflicts)

    @pytest.mark.parametrize("path", ["a.md", "a.yml", "a.txt"])
    def test_line_ends_and_the_final_one_are_no_change_of_text(self, path: str) -> None:
        base = b"a: 1\nb: 2\nc: 3\n"
        mine, crlf = base.replace(b"1", b"5"), base.replace(b"\n", b"\r\n")
        assert merged(path, base, mine, crlf) == merged(path, base, crlf, mine) == mine.replace(b"\n", b"\r\n")
        theirs = base.removesuffix(b"\n")
        added = base + b"\nd: 4\n"
        assert merged(path, base, added, theirs) == merged(path, base, theirs, added) == added.removesuffix(b"\n")
        assert merged(path, theirs, added, theirs.replace(b"1", b"5")) == added.replace(b"1", b"5")

    def test_conflict_of_complete_lines_is_resolved_by_a_choice(self) -> None:
        base = b"a: 1\nb: 2 # old\nc: 3\nd: 4\n"
        mine, theirs = base.replace(b"b: 2 # old\n", b""), base.replace(b"old", b"new").replace(b"4", b"5")
        assert conflicts("a.yml", base, mine, theirs)[0][0] == ConflictKind.LINES
        assert merge_file("a.yml", base, mine, theirs, ["mine"]) == MergedFile(b"a: 1\nc: 3\nd: 5\n")


class TestTerms:
    @pytest.mark.parametrize(
        ("old", "one", "other"),
        [
            ("10.50 EUR", "10.90 EUR", "12.50 EUR"),
            ("10 000 EUR", "12 000 EUR", "10 500 EUR"),
            ("2024-05-01", "2024-06-01", "2024-05-02"),
            ("24. Mai 2024", "25. Mai 2024", "24. Mai 2025"),
            ("10:30", "11:30", "10:45"),
            ("7 - 9 Uhr", "8 - 9 Uhr", "7 - 10 Uhr"),
            ("+49 30 1234 567", "+49 40 1234 567", "+49 30 1234 568"),
            ("a.b@c.example", "x.b@c.example", "a.b@z.example"),
            ("v1.9.2", "v2.9.2", "v1.9.3"),
            ("img/a-1.png", "pics/a-1.png", "img/a-2.png"),
            ("https://a.example/b?c=1", "https://z.example/b?c=1", "https://a.example/b?c=2"),
            ("[docs](/a/b)", "[guide](/a/b)", "[docs](/a/c)"),
            ("well-known", "best-known", "well-read"),
            ("\u7968\u50f910.50\u5143", "\u7968\u50f910.90\u5143", "\u7968\u50f912.50\u5143"),
        ],
    )
    def test_changes_within_one_term_are_a_conflict(self, old: str, one: str, other: str) -> None:
        base, mine, theirs = (f"It is {term} at the door.\n".encode() for term in (old, one, other))
        assert conflicts("a.md", base, mine, theirs) == [(ConflictKind.BLOCK, None, 0, None)]
        assert merged("a.md", base, mine, base.replace(b"door", b"gate")) == mine.replace(b"door", b"gate")

    def test_clauses_without_white_space_are_merged(self) -> None:
        base = "\u8239\u6bcf\u5929\u5f00\uff0c\u7968\u4ef7\u5341\u5143\uff0c\u6b22\u8fce\u3002\n"
        mine, theirs = base.replace("\u8239", "\u8f66"), base.replace("\u6b22\u8fce", "\u518d\u89c1")
        expected = mine.replace("\u6b22\u8fce", "\u518d\u89c1")
        assert merged("a.md", base.encode(), mine.encode(), theirs.encode()) == expected.encode()

    def test_item_that_one_side_removes_does_not_take_the_words_of_the_other(self) -> None:
        base = b"- a b\n- a c\n- d\n"
        assert conflicts("a.md", base, base.replace(b"- a b\n", b""), base.replace(b"a b", b"z b"))[0][0] == "block"


class TestHeadings:
    BASE = b"## A\n\nText a.\n\n## B\n\nText b.\n"

    def test_sections_at_one_position_are_a_conflict(self) -> None:
        for tight in (b"\n\n", b"\n"):
            base = self.BASE.replace(b"\n\n", tight)
            mine, theirs = (base.replace(b"## B", b"## %b\nSame.\n## B" % name) for name in (b"M", b"T"))
            assert conflicts("a.md", base, mine, theirs)[0][0] == ConflictKind.BLOCK

    def test_text_below_a_new_heading_of_the_other_side_is_a_conflict(self) -> None:
        mine = self.BASE.replace(b"## B", b"More a.\n\n## B")
        theirs = self.BASE.replace(b"Text a.", b"## New\n\nText a.")
        assert conflicts("a.md", self.BASE, mine, theirs)[0][0] == ConflictKind.BLOCK
        assert conflicts("a.md", self.BASE, theirs, mine)[0][0] == ConflictKind.BLOCK
        mine = self.BASE.replace(b"Text a.", b"Text a, longer.\n\nMore a.")  # The same block is changed by both sides.
        assert conflicts("a.md", self.BASE, mine, theirs)[0][0] == ConflictKind.BLOCK
        mine = self.BASE.replace(b"## B", b"More a.\n\n## B")
        renamed = self.BASE.replace(b"## A", b"## First")
        assert merged("a.md", self.BASE, mine, renamed) == mine.replace(b"## A", b"## First")
        added = self.BASE + b"\n## C\n\nText c.\n"
        assert merged("a.md", self.BASE, mine, added) == mine + b"\n## C\n\nText c.\n"

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b"Text a.", b"Another block."),  # A block that replaces one of the base.
            (b"## B", b"Another block."),  # A block that replaces a heading.
        ],
    )
    def test_text_that_replaces_a_block_below_a_new_heading_is_a_conflict(self, old: bytes, new: bytes) -> None:
        theirs = self.BASE.replace(b"Text a.", b"## New\n\nText a.")
        for mine in (self.BASE.replace(old, new), self.BASE.replace(b"## A", b"## First").replace(old, new)):
            assert conflicts("a.md", self.BASE, mine, theirs)[0][0] == ConflictKind.BLOCK
            assert conflicts("a.md", self.BASE, theirs, mine)[0][0] == ConflictKind.BLOCK
        edited = self.BASE.replace(b"Text a.", b"Text a, longer.")
        assert merged("a.md", self.BASE, edited, theirs) == theirs.replace(b"Text a.", b"Text a, longer.")

    @pytest.mark.parametrize("fence", [b"```", b"```js", b"~~~ python"])
    def test_other_code_below_a_new_heading_is_a_conflict_and_edited_code_is_not(self, fence: bytes) -> None:
        base = b"## A\n\n%s\none\n\ntwo\n%s\n\n## B\n" % (fence, fence[:3])
        theirs = base.replace(fence + b"\none", b"## New\n\nText.\n\n" + fence + b"\none")
        other = base.replace(b"one\n\ntwo", b"three\n\nfour")
        assert conflicts("a.md", base, other, theirs)[0][0] == ConflictKind.BLOCK
        assert conflicts("a.md", base, theirs, other)[0][0] == ConflictKind.BLOCK
        edited = base.replace(b"two", b"three")
        assert merged("a.md", base, edited, theirs) == theirs.replace(b"two", b"three")

    def test_edit_of_a_sentence_without_spaces_stays_below_a_new_heading(self) -> None:
        base = "## A\n\n今天天气很好，我们去公园玩。\n\n## B\n".encode()
        mine = base.replace("公园".encode(), "学校".encode())
        theirs = base.replace("今天".encode(), "## 新\n\n今天".encode())
        assert merged("a.md", base, mine, theirs) == theirs.replace("公园".encode(), "学校".encode())

    def test_text_below_a_heading_that_replaces_a_removed_one_is_a_conflict(self) -> None:
        base = b"## A\n\nText a.\n\nText b.\n\n## B\n"
        mine = base.replace(b"## A\n\n", b"").replace(b"Text b.", b"## New\n\nText b.")
        theirs = base.replace(b"## A\n\n", b"").replace(b"Text b.", b"Text b.\n\nMore.")
        assert conflicts("a.md", base, mine, theirs)[0][0] == ConflictKind.BLOCK
        assert conflicts("a.md", base, theirs, mine)[0][0] == ConflictKind.BLOCK

    def test_heading_that_a_side_adds_while_it_renames_another_one_remains_known(self) -> None:
        base = b"## A\n\nText.\n\nOld.\n\n## B\n\nText b.\n"
        mine = base + b"\nMore b.\n"
        theirs = base.replace(b"Old.\n\n## B", b"## B\n\n## C\n\nText c.")
        assert conflicts("a.md", base, mine, theirs)[0][0] == ConflictKind.BLOCK
        assert conflicts("a.md", base, theirs, mine)[0][0] == ConflictKind.BLOCK


class TestLines:
    @pytest.mark.parametrize(
        ("base", "mine", "theirs"),
        [
            ("> One line. And two.\n", "> One line. Then more.\n> And two.\n", "Note:\nOne line. And two.\nEnd.\n"),
            ("1. One line\n2. Two lines\n", "- One line\n- Two lines\n", "1. One line\n2. Two lines\n3. Three lines\n"),
            ("  - One line\n  - Two lines\n", "- One line\n- Two lines\n", "  - One line\n  - Two lines\n  - Three\n"),
        ],
    )
    def test_line_with_a_sign_that_the_other_side_removed_is_a_conflict(
        self, base: str, mine: str, theirs: str
    ) -> None:
        assert conflicts("a.md", base.encode(), mine.encode(), theirs.encode())[0][0] == ConflictKind.BLOCK
        assert conflicts("a.md", base.encode(), theirs.encode(), mine.encode())[0][0] == ConflictKind.BLOCK

    def test_terms_below_new_signs_of_a_list_are_merged(self) -> None:
        base = b"1. One line\n2. Two long lines\n"
        mine, theirs = base.replace(b"1.", b"-").replace(b"2.", b"-"), base.replace(b"lines", b"rows")
        assert merged("a.md", base, mine, theirs) == mine.replace(b"lines", b"rows")

    def test_text_that_would_be_in_an_open_fence_of_the_other_side_is_a_conflict(self) -> None:
        base = b"```\na\n\nb\n```\n"
        mine, theirs = base + b"\nText.\n", b"```\n" + base + b"\nMore.\n\n```\nc\n```\n"
        assert conflicts("a.md", base, mine, theirs)[0][0] == ConflictKind.BLOCK
        assert conflicts("a.md", base, theirs, mine)[0][0] == ConflictKind.BLOCK


class TestWholeFiles:
    def test_deletion_conflicts_with_an_edit_only(self) -> None:
        assert merge_file("a.md", POST, None, POST) == MergedFile(None)
        assert merge_file("a.md", POST, POST, None) == MergedFile(None)
        assert conflicts("a.md", POST, None, POST + b"x") == [(ConflictKind.EDIT_DELETE, None, None, None)]
        assert conflicts("a.md", POST, POST + b"x", None) == [(ConflictKind.EDIT_DELETE, None, None, None)]

    def test_files_that_both_added_conflict_unless_they_are_equal(self) -> None:
        assert merge_file("a.md", None, POST, POST) == MergedFile(POST)
        assert conflicts("a.md", None, POST, POST + b"x") == [(ConflictKind.ADD_ADD, None, None, None)]

    @pytest.mark.parametrize(
        "versions", [(b"\0a", b"\0b", b"\0c"), (b"a", b"b\xe9", "cé".encode()), (b"a", b"b", b"\0")]
    )
    def test_binary_files_and_mixed_encodings_conflict(self, versions: tuple[bytes, bytes, bytes]) -> None:
        assert conflicts("a.txt", *versions) == [(ConflictKind.BINARY, None, None, None)]

    def test_text_in_latin_1_keeps_its_bytes(self) -> None:
        assert merged("a.txt", b"a\nb\nc\xe9\n", b"A\nb\nc\xe9\n", b"a\nb\nC\xe9\n") == b"A\nb\nC\xe9\n"


HOSTILE = [
    b"",
    b"---\n",
    b"---\na: &x [1]\nb: *x\n---\n",
    b"---\na: &x [1, 2]\nb: *x\n---\nText\n",
    b"---\na: 1\na: 2\n---\n",
    b"---\n? [a]\n: 1\n---\n",
    b"---\n<<: {a: 1}\n<<: {b: 2}\n---\n",
    b"---\r\na: 1\r\n---\r\nText",
    b"\xef\xbb\xbf\xef\xbb\xbf---\na: 1\n---",
    b"+++\na = 1\n+++\n",
    b"+++\na = 1979-05-27T07:32:00Z\na.b = 1\n+++\n",
    b'{\n"a": 1, "a": 2\n}\n\nText\n',
    b'{"a": ' * 500,
    b"---\n" + b"[" * 2_000,
    b"a: " + b"9" * 5_000,
    b"---\na: !!python/object:os.system x\n---\n",
    b"<<<<<<< a\n=======\n>>>>>>> b\n",
    b"```\n~~~\n\n````\n",
    b"\xff\xfe\x00",
    b"caf\xe9\n",
    b"a: 1\n---\nb: 2\n",
    b"- a\n- b\n",
    b'[1, "a"]',
    b'{"a": 1e999, "b": [{"id": 1}, {"id": 1}]}',
    b"id: x\nlist:\n- id: 1\n  a: 2\n- id: 2\n",
]
PATHS = st.sampled_from(["a.md", "a.mdx", "a.html", "a.yml", "a.toml", "a.json", "a.txt", "a.png"])
PIECE = st.sampled_from(
    [
        b"---\n",
        b"+++\n",
        b"a: 1\n",
        b"b: [x, y]\n",
        b"c = 2\n",
        b'"d": 3,\n',
        b"{",
        b"}\n",
        b"- z\n",
        b"\r\n",
        b"\n",
        b"# T\n",
        b"x y",
        b"\xe9",
    ]
)
BYTES = st.sampled_from(HOSTILE) | st.lists(PIECE, max_size=9).map(b"".join) | st.binary(max_size=12)


class TestProperties:
    @given(PATHS, BYTES, BYTES)
    def test_only_change_of_a_side_is_the_result(self, path: str, base: bytes, other: bytes) -> None:
        assert merge_file(path, base, other, base).data == other  # type: ignore[union-attr]
        assert merge_file(path, base, base, other).data == other  # type: ignore[union-attr]
        assert merge_file(path, base, other, other).data == other  # type: ignore[union-attr]

    @settings(max_examples=600)
    @given(PATHS, BYTES, BYTES, BYTES)
    def test_any_bytes_merge_or_conflict(self, path: str, base: bytes, mine: bytes, theirs: bytes) -> None:
        result, mirrored = merge_file(path, base, mine, theirs), merge_file(path, base, theirs, mine)
        assert type(result) is type(mirrored)
        if isinstance(result, FileConflicts):
            assert result.conflicts
            return
        if b"<<<<<<<" not in base + mine + theirs:
            assert b"<<<<<<<" not in (result.data or b"")
        if isinstance(mirrored, MergedFile):
            assert set((result.data or b"").split()) == set((mirrored.data or b"").split())

    @settings(max_examples=300)
    @given(PATHS, st.data())
    def test_no_addition_of_either_side_is_lost_without_a_conflict(self, path: str, data: st.DataObject) -> None:
        base = [
            "# One\n",
            "\n",
            "a b c d e f\n",
            "g h\n",
            "\n",
            "- i\n",
            "- j k\n",
            "\n",
            "```\n",
            "l\n",
            "\n",
            "```\n",
        ]
        sides, added = [], []
        for name in ("M", "T"):
            lines = list(base)
            for number in range(data.draw(st.integers(1, 3))):
                position, word = data.draw(st.integers(0, len(lines) - 1)), f"{name}{number}"
                added.append(word)
                line = lines[position]
                lines[position] = data.draw(
                    st.sampled_from([f"{word} {line}", f"{line}{word}\n", f"{line[:-1]} {word}\n"])
                )
            sides.append("".join(lines).encode())
        result = merge_file(path, "".join(base).encode(), *sides)
        if isinstance(result, MergedFile):
            assert result.data is not None
            assert set(added) <= set(result.data.decode().split())
