"""Reader of TOML: strings are not counted as keys, and the parts of a key are limited."""

import pytest

from app.content.front_matter.toml_reader import count_dots, read_toml
from app.content.front_matter.values import FrontMatterTooLarge


class TestReadToml:
    @pytest.mark.parametrize("part", ["a", '"a.b"', "'a'"])
    def test_key_with_too_many_parts_is_refused(self, part: str) -> None:
        assert read_toml(f"{'.'.join([part] * 20)} = 1\r\n")
        with pytest.raises(FrontMatterTooLarge):
            read_toml(f"{' . '.join([part] * 40)} = 1\n")

    @pytest.mark.parametrize("text", ['a = "{}"', "a = '{}'", 'a = """\n{}"""', "a = '''\n{}'''", "a = 1 # {}"])
    def test_dots_in_strings_and_comments_are_not_counted(self, text: str) -> None:
        document = text.format("a." * 100)
        assert (count_dots(document), list(read_toml(document))) == (0, ["a"])
