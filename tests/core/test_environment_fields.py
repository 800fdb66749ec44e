"""The kinds of value an environment variable may hold."""

import base64
from pathlib import Path

import pytest
from marshmallow import ValidationError

from app.core.environment_fields import (
    Database,
    HostName,
    Keys,
    Names,
    Origins,
    Pem,
    Place,
    Plans,
    Sender,
    Url,
    line,
)

KEY = bytes(range(220, 252))  # the same in every process: it stands in the names of tests
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
    def test_an_address_is_read_without_a_slash_at_its_end(self, given: str, read: str) -> None:
        assert Url().deserialize(given) == read

    @pytest.mark.parametrize(
        "given",
        ["example.org", "ftp://example.org", "http://", "http://x:99999", "http://a b", "http://x/#y", "http://[x"],
    )
    def test_what_is_no_address_is_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            Url().deserialize(given)

    def test_only_the_named_schemes_are_taken(self) -> None:
        assert Url("redis", "unix").deserialize("unix:///run/redis.sock") == "unix:///run/redis.sock"
        with pytest.raises(ValidationError):
            Url("redis").deserialize("http://x")


class TestOrigins:
    def test_scheme_host_and_port_are_read(self) -> None:
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
    def test_what_no_browser_sends_as_origin_is_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            Origins().deserialize(f"https://b.org,{given}")


class TestHostName:
    @pytest.mark.parametrize("given", ["preview.localhost", "previews.example.net", "localhost:8443", "10.0.0.1"])
    def test_a_host_is_read(self, given: str) -> None:
        assert HostName().deserialize(f" {given.upper()} ") == given

    @pytest.mark.parametrize("given", ["http://x", "x/y", "*.example.net", "a b", ".example.net", "x:", "x:0", "x."])
    def test_what_is_no_host_is_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            HostName().deserialize(given)


class TestKeys:
    def test_standard_and_url_safe_base64_with_or_without_padding_are_read(self) -> None:
        spellings = [base64.b64encode(KEY), base64.urlsafe_b64encode(KEY), base64.b64encode(KEY).rstrip(b"=")]
        assert {Keys().deserialize(f"k1:{text.decode()}") for text in spellings} == {(("k1", KEY),)}

    def test_the_order_is_kept(self) -> None:
        text = base64.b64encode(KEY).decode()
        assert [kid for kid, _ in Keys().deserialize(f"new:{text}, old:{text}")] == ["new", "old"]

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
    def test_what_is_no_key_ring_is_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            Keys().deserialize(given)


class TestPem:
    def test_text_with_written_out_line_breaks_is_read(self, tmp_path: Path) -> None:
        assert Pem(tmp_path).deserialize(PEM.replace("\n", "\\n")) == PEM

    def test_a_path_is_read_from_the_base_folder(self, tmp_path: Path) -> None:
        (tmp_path / "app.pem").write_text(PEM)
        assert Pem(tmp_path).deserialize("app.pem") == PEM

    @pytest.mark.parametrize("given", ["nowhere.pem", "other.txt", "-----BEGIN CERTIFICATE-----", "a\x00b"])
    def test_anything_else_is_refused(self, tmp_path: Path, given: str) -> None:
        (tmp_path / "other.txt").write_text("hello")
        with pytest.raises(ValidationError):
            Pem(tmp_path).deserialize(given)


class TestDatabase:
    @pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
    def test_postgresql_is_always_reached_with_psycopg(self, tmp_path: Path, scheme: str) -> None:
        read = Database(tmp_path).deserialize(f"{scheme}://u:p%40ss@h:5432/db?sslmode=require")
        assert read == "postgresql+psycopg://u:p%40ss@h:5432/db?sslmode=require"

    def test_a_relative_file_counts_from_the_base_folder(self, tmp_path: Path) -> None:
        assert Database(tmp_path).deserialize("sqlite:///data/app.db") == f"sqlite:///{tmp_path}/data/app.db"
        assert Database(tmp_path).deserialize("sqlite:////srv/app.db") == "sqlite:////srv/app.db"

    @pytest.mark.parametrize(
        "given", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "postgresql+psycopg2://x/y", "x"]
    )
    def test_what_the_server_and_the_worker_cannot_share_is_refused(self, tmp_path: Path, given: str) -> None:
        with pytest.raises(ValidationError):
            Database(tmp_path).deserialize(given)


class TestPlans:
    LIMITS = ("projects", "members")

    def test_each_plan_says_what_it_allows(self) -> None:
        given = "Pro: projects=300, members=100; Team plus :members=500;"
        assert Plans(*self.LIMITS).deserialize(given) == {
            "Pro": {"projects": 300, "members": 100},
            "Team plus": {"members": 500},
        }

    @pytest.mark.parametrize(
        "given",
        ["Pro", "Pro:", ": projects=1", "Pro: projects=0", "Pro: projects=-1", "Pro: projects=x", "Pro: sites=3",
         "Pro: projects=1; Pro: members=2", "Pro: projects=1,", "Pro: projects=9999999999"],
    )  # fmt: skip
    def test_anything_else_is_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            Plans(*self.LIMITS).deserialize(given)


class TestOthers:
    def test_names_are_split_at_commas_and_trimmed(self) -> None:
        assert Names().deserialize(" a, b,,c ") == ("a", "b", "c")

    def test_a_relative_place_counts_from_the_base_folder(self, tmp_path: Path) -> None:
        assert Place(tmp_path).deserialize("x/y") == tmp_path / "x" / "y"
        assert Place(tmp_path).deserialize("/srv") == Path("/srv")

    @pytest.mark.parametrize("given", ["a@b.org", "Galley <a@b.org>"])
    def test_a_sender_is_an_address_with_or_without_a_name(self, given: str) -> None:
        assert Sender().deserialize(given) == given

    @pytest.mark.parametrize("given", ["Galley", "a@b.org\r\nBcc: c@d.org", "@", "<>"])
    def test_what_is_no_sender_is_refused(self, given: str) -> None:
        with pytest.raises(ValidationError):
            Sender().deserialize(given)

    @pytest.mark.parametrize("given", ["a\nb", "a <b>", "a\x00"])
    def test_a_git_name_stays_on_its_line(self, given: str) -> None:
        with pytest.raises(ValidationError):
            line("git.bot_name").deserialize(given)
