"""Tests of the merge of one file: by type, with conflicts of whole files and hostile inputs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.content.merge.files import ConflictKind, FileConflicts, LineRange, MergedFile, merge_file
from app.content.merge.values import MISSING

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
        end = b"false\nweight: 010 # old\npublished: no\nstart: 2024-05-01\n"
        assert merged("a.md", POST, mine, theirs) == POST.replace(b"false\n", end)

    def test_line_that_both_changed_is_written_in_the_notation_of_theirs(self) -> None:
        base = b"+++\ndates = [2024-01-01]\n+++\n"
        mine, theirs = (base.replace(b"01]", added) for added in (b"01, 2024-01-02]", b"01, 2024-01-03,]"))
        assert merged("a.md", base, mine, theirs) == base.replace(b"01]", b"01, 2024-01-02, 2024-01-03,]")

    def test_comment_in_a_line_that_both_changed_is_not_lost(self) -> None:
        mine = POST.replace(b"[a, b]", b"[a, b, c] # mine")
        theirs = POST.replace(b"[a, b]", b"[b]")
        assert merged("a.md", POST, mine, theirs) == POST.replace(b"[a, b]", b"[b, c] # mine")
        assert conflicts("a.md", POST, mine, POST.replace(b"[a, b]", b"[b] # theirs")) == [
            (ConflictKind.LINES, None, None, LineRange(3, 3))
        ]

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
        assert merged("a.md", b"Text\n", mine, theirs) == b"---\nb: 2\na: 1\n---\nText\n"

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
            ("a.json", '{"a": 1.50}', '{"a": 1.50, "b": 1}', '{"c": 1, "a": 1.50}', '{"c": 1, "a": 1.50, "b": 1}'),
            ("a.toml", "[x]\na = 1\n", "[x]\na = 1\nb = 1\n", "[x]\na = 1\nc = 1\n", "[x]\na = 1\nc = 1\nb = 1\n"),
            ("a.yml", "# top\na: 1\n", "# top\na: 1\nb: yes\n", "# top\nc: 1\na: 1\n", "# top\nc: 1\na: 1\nb: yes\n"),
            ("a.yml", "- a\n- b\n", "- x\n- a\n- b\n", "- a\n- c\n", "- x\n- a\n- c\n"),
        ],
    )
    def test_edits_of_both_sides_are_merged(self, path: str, base: str, mine: str, theirs: str, expected: str) -> None:
        assert merged(path, base.encode(), mine.encode(), theirs.encode()) == expected.encode()

    def test_list_at_the_root_is_merged_by_line(self) -> None:
        assert conflicts("a.yml", b"- id: a\n", b"- id: b\n", b"- id: c\n")[0][0] == ConflictKind.LINES
        assert conflicts("a.json", b"[1]\n", b"[2]\n", b"[3]\n")[0][0] == ConflictKind.LINES

    def test_result_of_a_merge_by_line_that_cannot_be_read_is_a_conflict(self) -> None:
        base = b'[\n  {"a": 1},\n  {"a": 2},\n  {"a": 3}\n]\n'
        mine = base.replace(b'  {"a": 1},\n', b"")
        assert merged("a.json", base, mine, base.replace(b"3", b"4")) == mine.replace(b"3", b"4")
        mine, theirs = base.replace(b'  {"a": 1},\n  {"a": 2},\n', b""), base.replace(b',\n  {"a": 3}', b"")
        assert conflicts("a.json", base, mine, theirs)[0][0] == ConflictKind.LINES

    def test_key_that_both_add_at_different_positions_occurs_once(self) -> None:
        base = b"a: 1\nb: 1\nc: 1\n"
        assert merged("a.yml", base, b"x: 1\n" + base.replace(b"b: 1", b"b: 2"), base + b"x: 1\n") == (
            base.replace(b"b: 1", b"b: 2") + b"x: 1\n"
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
