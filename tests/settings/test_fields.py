"""Tests of the fields that parse environment variables."""

import base64
from pathlib import Path

import pytest
from marshmallow import ValidationError

from app.settings.fields import (
    DirectoryField,
    EncryptionKeysField,
    HostName,
    ListField,
    Origins,
    Pem,
    PlanLimitsField,
    SenderField,
    Url,
    line,
)
from app.settings.stores import DatabaseUrlField

KEY = bytes(range(220, 252))  # Test ids contain the key, so it is equal in all processes.
PEM = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----"


class TestUrl:
    @pytest.mark.parametrize(
        ("given", "read"),
        [
            ("https://example.org/", "https://example.org"),
            ("http://127.0.0.1:9", "http://127.0.0.1:9"),
            (" http://[::1]:8000/v1 ", "http://[::1]:8000/v1"),
        ],
    )
    def test_url_slash_at_the_end_is_removed(self, given: str, read: str) -> None:
        assert Url().deserialize(given) == read

    @pytest.mark.parametrize(
        "given",
        ["example.org", "ftp://example.org", "http://", "http://x:99999", "http://a b", "http://x/#y", "http://[x"],
    )
    def test_invalid_url_is_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            Url().deserialize(given)

    def test_url_with_another_scheme_is_refused(self) -> None:
        assert Url("redis", "unix").deserialize("unix:///run/redis.sock") == "unix:///run/redis.sock"
        with pytest.raises(ValidationError):
            Url("redis").deserialize("http://x")


class TestOrigins:
    def test_origin_is_normalized(self) -> None:
        given = "https://a.org, HTTP://B.org:8080/,capacitor://localhost,http://[::1]:3000"
        read = ("https://a.org", "http://b.org:8080", "capacitor://localhost", "http://[::1]:3000")
        assert Origins().deserialize(given) == read

    @pytest.mark.parametrize(
        "given",
        [
            "a.org",
            "null",
            "*",
            "https://*.a.org",
            "https://a.org/app",
            "https://a.org?x",
            "https://me@a.org",
            "http://a:b",
        ],
    )
    def test_invalid_origin_is_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            Origins().deserialize(f"https://b.org,{given}")


class TestHostName:
    @pytest.mark.parametrize("given", ["preview.localhost", "previews.example.net", "localhost:8443", "10.0.0.1"])
    def test_host_name_is_normalized(self, given: str) -> None:
        assert HostName().deserialize(f" {given.upper()} ") == given

    @pytest.mark.parametrize("given", ["http://x", "x/y", "*.example.net", "a b", ".example.net", "x:", "x:0", "x."])
    def test_invalid_host_name_is_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            HostName().deserialize(given)


class TestKeys:
    def test_key_accepts_both_base64_alphabets_and_missing_padding(self) -> None:
        spellings = [base64.b64encode(KEY), base64.urlsafe_b64encode(KEY), base64.b64encode(KEY).rstrip(b"=")]
        assert {EncryptionKeysField().deserialize(f"k1:{text.decode()}") for text in spellings} == {(("k1", KEY),)}

    def test_keys_keep_their_order(self) -> None:
        text = base64.b64encode(KEY).decode()
        assert [kid for kid, _ in EncryptionKeysField().deserialize(f"new:{text}, old:{text}")] == ["new", "old"]

    @pytest.mark.parametrize(
        "given",
        [
            ",",
            "k1",
            "k1:",
            "k1:!!!!",
            "k1:" + base64.b64encode(b"x" * 31).decode(),
            ":" + base64.b64encode(KEY).decode(),
            "a b:" + base64.b64encode(KEY).decode(),
            ",".join(["k1:" + base64.b64encode(KEY).decode()] * 2),
        ],
    )
    def test_invalid_keys_are_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            EncryptionKeysField().deserialize(given)


class TestPem:
    def test_pem_text_with_escaped_line_breaks_is_accepted(self, tmp_path: Path) -> None:
        assert Pem(tmp_path).deserialize(PEM.replace("\n", "\\n")) == PEM

    def test_pem_path_starts_at_the_base_folder(self, tmp_path: Path) -> None:
        (tmp_path / "app.pem").write_text(PEM)
        assert Pem(tmp_path).deserialize("app.pem") == PEM

    @pytest.mark.parametrize("given", ["nowhere.pem", "other.txt", "-----BEGIN CERTIFICATE-----", "a\x00b"])
    def test_invalid_pem_is_refused(self, tmp_path: Path, given: str) -> None:
        (tmp_path / "other.txt").write_text("hello")
        with pytest.raises(ValidationError):
            Pem(tmp_path).deserialize(given)


class TestDatabase:
    @pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
    def test_postgresql_url_uses_psycopg(self, tmp_path: Path, scheme: str) -> None:
        read = DatabaseUrlField(tmp_path).deserialize(f"{scheme}://u:p%40ss@h:5432/db?sslmode=require")
        assert read == "postgresql+psycopg://u:p%40ss@h:5432/db?sslmode=require"

    def test_relative_sqlite_file_starts_at_the_base_folder(self, tmp_path: Path) -> None:
        assert DatabaseUrlField(tmp_path).deserialize("sqlite:///data/app.db") == f"sqlite:///{tmp_path}/data/app.db"
        assert DatabaseUrlField(tmp_path).deserialize("sqlite:////srv/app.db") == "sqlite:////srv/app.db"

    @pytest.mark.parametrize(
        "given", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "postgresql+psycopg2://x/y", "x"]
    )
    def test_unshareable_database_is_refused(self, tmp_path: Path, given: str) -> None:
        with pytest.raises(ValidationError):
            DatabaseUrlField(tmp_path).deserialize(given)


class TestPlans:
    LIMITS = ("projects", "members")

    def test_plan_limits_are_parsed(self) -> None:
        given = "Pro: projects=300, members=100; Team plus :members=500;"
        assert PlanLimitsField(*self.LIMITS).deserialize(given) == {
            "Pro": {"projects": 300, "members": 100},
            "Team plus": {"members": 500},
        }

    @pytest.mark.parametrize(
        "given",
        ["Pro", "Pro:", ": projects=1", "Pro: projects=0", "Pro: projects=-1", "Pro: projects=x", "Pro: sites=3",
         "Pro: projects=1; Pro: members=2", "Pro: projects=1,", "Pro: projects=9999999999"],
    )  # fmt: skip
    def test_invalid_plan_limits_are_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            PlanLimitsField(*self.LIMITS).deserialize(given)


class TestOtherFields:
    def test_list_is_split_at_commas_and_trimmed(self) -> None:
        assert ListField().deserialize(" a, b,,c ") == ("a", "b", "c")

    def test_relative_folder_starts_at_the_base_folder(self, tmp_path: Path) -> None:
        assert DirectoryField(tmp_path).deserialize("x/y") == tmp_path / "x" / "y"
        assert DirectoryField(tmp_path).deserialize("/srv") == Path("/srv")

    @pytest.mark.parametrize("given", ["a@b.org", "Galley <a@b.org>"])
    def test_sender_with_or_without_name_is_accepted(self, given: str) -> None:
        assert SenderField().deserialize(given) == given

    @pytest.mark.parametrize("given", ["Galley", "a@b.org\r\nBcc: c@d.org", "@", "<>"])
    def test_invalid_sender_is_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            SenderField().deserialize(given)

    @pytest.mark.parametrize("given", ["a\nb", "a <b>", "a\x00"])
    def test_git_name_with_control_characters_is_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            line("git.bot_name", "Name.").deserialize(given)
