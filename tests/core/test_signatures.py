"""Signatures of messages from other services."""

import pytest

from app.core.signatures import is_signed, sign

MESSAGE = b"a message"


class TestIsSigned:
    def test_a_signature_is_the_rfcs_hmac(self) -> None:
        # RFC 4231, test case 2.
        wanted = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        assert sign("Jefe", b"what do ya want for nothing?") == wanted

    def test_any_live_secret_and_any_given_signature_will_do(self) -> None:
        given = ["00", sign("new", MESSAGE)]
        assert is_signed(MESSAGE, given, secrets=["old", "new"])

    @pytest.mark.parametrize("given", [[], [""], ["00"], [sign("other", MESSAGE)], [sign("new", b"another")], ["é"]])
    def test_nothing_else_will(self, given: list[str]) -> None:
        assert not is_signed(MESSAGE, given, secrets=["old", "new"])

    @pytest.mark.parametrize("secrets", [[], [""]])
    def test_without_a_secret_nothing_is_signed(self, secrets: list[str]) -> None:
        assert not is_signed(MESSAGE, [sign("", MESSAGE)], secrets=secrets)
