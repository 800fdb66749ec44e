"""Tests that every spelling of a client address is counted under one key."""

import itertools
from dataclasses import replace

import pytest
from flask import Flask

from app.http.rate_limits import address
from config import Settings

V4, V6 = "192.0.2.1", "2001:db8:1:2::/64"

SPELLED_V4 = (
    "192.0.2.1",
    " 192.0.2.1 ",
    "\t192.0.2.1",
    "192.0.2.1:4711",
    "[192.0.2.1]",
    "[192.0.2.1]:4711",
    "::ffff:192.0.2.1",
    "::FFFF:192.0.2.1",
    "::ffff:c000:201",
    "::FFFF:C000:0201",
    "0:0:0:0:0:ffff:192.0.2.1",
    "0:0:0:0:0:FFFF:C000:201",
    "0000:0000:0000:0000:0000:ffff:c000:0201",
    "[::ffff:192.0.2.1]",
    "[::ffff:192.0.2.1]:443",
    "::ffff:192.0.2.1%eth0",
)
SPELLED_V6 = (
    "2001:db8:1:2::1",
    "2001:DB8:1:2::1",
    "2001:0db8:0001:0002:0000:0000:0000:0001",
    "2001:db8:1:2:0:0:0:1",
    "2001:db8:1:2:ffff:ffff:ffff:ffff",
    "2001:db8:1:2::192.0.2.1",
    "2001:db8:1:2:a:b:c:d",
    "2001:db8:1:2::",
    "[2001:db8:1:2::1]",
    "[2001:db8:1:2::1]:4711",
    "2001:db8:1:2::1%eth0",
    "[2001:db8:1:2::1%25eth0]:4711",
    " 2001:db8:1:2::beef ",
)
CLAIMED: tuple[list[tuple[str, str]], ...] = (
    [],
    [("X-Forwarded-For", "203.0.113.9")],
    [("X-Forwarded-For", "203.0.113.9, 198.51.100.7")],
    [("X-Forwarded-For", "unknown"), ("X-Forwarded-For", "_hidden")],
    [("X-Forwarded-For", ", , ,")],
    [("X-Forwarded-For", "'; DROP TABLE users; --")],
    [("X-Forwarded-For", "A" * 3000)],
    [("X-Forwarded-For", "[2001:db8:9::9]:1")],
    [("Forwarded", "for=203.0.113.9;proto=https;by=198.51.100.7")],
    [("Forwarded", 'for="[2001:db8:9::9]:4711"')],
    [("X-Real-IP", "203.0.113.9")],
    [("X-Client-IP", "203.0.113.9"), ("True-Client-IP", "203.0.113.9"), ("CF-Connecting-IP", "203.0.113.9")],
    [("X-Cluster-Client-IP", "203.0.113.9"), ("Fastly-Client-IP", "203.0.113.9"), ("Via", "1.1 203.0.113.9")],
)
"""What a client may send of its own accord; proxies of ours write to the right of it."""

CASES = [
    (hops, spelled, claimed, bucket)
    for hops, (spellings, bucket) in itertools.product((0, 1, 2), ((SPELLED_V4, V4), (SPELLED_V6, V6)))
    for number, spelled in enumerate(spellings)
    for claimed in (CLAIMED[number % len(CLAIMED)], CLAIMED[(number + 5) % len(CLAIMED)], CLAIMED[(number + 9) % 13])
]


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    """Return an application without a database for address checks."""
    made = Flask("addresses")
    made.config["SETTINGS"] = Settings.for_tests(tmp_path_factory.mktemp("instance"))
    return made


@pytest.mark.parametrize("one_line", [True, False], ids=["joined", "in lines"])
@pytest.mark.parametrize(("hops", "spelled", "claimed", "bucket"), CASES)
class TestSpellings:
    def test_spelling_of_an_address_has_the_same_key(
        self, offline: Flask, one_line: bool, hops: int, spelled: str, claimed: list[tuple[str, str]], bucket: str
    ) -> None:
        assert bucket_of(offline, hops, spelled, claimed, one_line=one_line) == bucket


class TestOtherAddresses:
    def test_spellings_number_more_than_two_hundred(self) -> None:
        assert len({(hops, spelled, str(claimed)) for hops, spelled, claimed, _ in CASES}) >= 200

    @pytest.mark.parametrize(
        ("other", "bucket"),
        [("192.0.2.2", "192.0.2.2"), ("2001:db8:1:3::1", "2001:db8:1:3::/64"), ("::ffff:192.0.2.2", "192.0.2.2")],
    )
    @pytest.mark.parametrize("hops", [0, 1, 2])
    def test_other_addresses_have_another_key(self, offline: Flask, hops: int, other: str, bucket: str) -> None:
        assert bucket_of(offline, hops, other, CLAIMED[1], one_line=True) == bucket


def bucket_of(app: Flask, hops: int, spelled: str, claimed: list[tuple[str, str]], *, one_line: bool) -> str:
    """Return the rate key of a client behind `hops` proxies. Each proxy appends the address of its peer."""
    trail = [spelled, "10.0.0.1", "10.0.0.2"]
    own = [value for name, value in claimed if name == "X-Forwarded-For"]
    told = [*own, *trail[:hops]]
    forwarded = [", ".join(told)] if one_line and told else told
    headers = [pair for pair in claimed if pair[0] != "X-Forwarded-For"] + [
        ("X-Forwarded-For", one) for one in forwarded
    ]
    known = app.config["SETTINGS"]
    app.config["SETTINGS"] = replace(known, server=replace(known.server, trusted_hops=hops))
    try:
        with app.test_request_context(headers=headers, environ_overrides={"REMOTE_ADDR": trail[hops]}):
            return address()
    finally:
        app.config["SETTINGS"] = known
