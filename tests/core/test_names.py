"""What may be called what."""

import pytest

from app.core.names import as_name, name_fault


class TestNameFault:
    @pytest.mark.parametrize("name", ["Ada", "Zoë O'Hara", "王小明", "שלום\u200f", "👩\u200d💻 team", "a  b", "<3"])
    def test_what_can_be_seen_on_one_line_is_a_name(self, name: str) -> None:
        assert name_fault(name) is None

    @pytest.mark.parametrize("name", ["Ada\nBcc: x", "a\r\nb", "a\tb", "a\x7fb", "a\u2028b", "\u202eevil", "a\u2066b"])
    def test_what_breaks_the_line_or_turns_it_round_is_none(self, name: str) -> None:
        assert name_fault(name) == "May not hold line breaks, control characters or overrides of the direction."

    @pytest.mark.parametrize("name", ["", "  ", "\u200b", "\u2060 \ufeff"])
    def test_what_cannot_be_seen_is_none(self, name: str) -> None:
        assert name_fault(name) == "May not be empty."


class TestAsName:
    def test_lines_become_one(self) -> None:
        assert as_name(" Ada\r\n\u202eLovelace\t ") == "Ada Lovelace"
