"""Tests of the policies of pages that receive a script."""

import pytest

from app.preview_proxy.page_policy import forbids_scripts, permit_in_meta, permit_script, without_frame_ancestors

URL = "http://a.example/s.js"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("script-src 'self'", f"script-src 'self' {URL}"),
        ("Script-Src 'NONE'; img-src *", f"script-src {URL}; img-src *"),
        ("script-src", f"script-src {URL}"),
        ("default-src 'none'; img-src *", f"default-src 'none'; img-src *; script-src {URL}"),
        ("script-src a; script-src-elem b; default-src c", f"script-src a; script-src-elem b {URL}; default-src c"),
        ("script-src a; script-src b", f"script-src a {URL}; script-src b"),
        ("script-src 'unsafe-inline'", f"script-src 'unsafe-inline' {URL}"),
        ("script-src 'nonce-x' 'strict-dynamic'", "script-src 'nonce-x' 'strict-dynamic' 'nonce-N'"),
        ("default-src 'Strict-Dynamic' 'sha256-x'", "default-src 'Strict-Dynamic' 'sha256-x'; script-src 'Strict-Dynamic' 'sha256-x' 'nonce-N'"),
        ("script-src 'sha256-x'", f"script-src 'sha256-x' {URL}"),
        ("img-src *", "img-src *"),
        ("default-src a, script-src b", f"default-src a; script-src a {URL}, script-src b {URL}"),
        ("", ""),
        (";;", ";;"),
    ],
)  # fmt: skip
def test_policy_permits_the_script(value: str, expected: str) -> None:
    assert permit_script(value, URL, "N") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("frame-ancestors 'none'", ""),
        ("default-src 'self'; Frame-Ancestors 'none'; img-src *", "default-src 'self'; img-src *"),
        ("frame-ancestors a, script-src b, frame-ancestors c", "script-src b"),
        ("frame-src a", "frame-src a"),
    ],
)
def test_directive_of_frames_is_removed(value: str, expected: str) -> None:
    assert without_frame_ancestors(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("sandbox", True),
        ("default-src a; SANDBOX allow-forms", True),
        ("sandbox Allow-Scripts allow-forms", False),
        ("sandbox allow-scripts, sandbox", True),
        ("script-src 'none'", False),
    ],
)
def test_sandbox_without_scripts_is_recognized(value: str, expected: bool) -> None:
    assert forbids_scripts(value) is expected


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        (
            b"<meta http-equiv=Content-Security-Policy content=\"script-src 'self'\">",
            b'<meta http-equiv=Content-Security-Policy content="script-src &#x27;self&#x27; http://a.example/s.js">',
        ),
        (
            b"<META CONTENT='script-src &#39;self&#39; &amp; \xe9 &hellip;' content=b HTTP-EQUIV=\"content-security-policy\"/>",
            b'<META CONTENT="script-src &#x27;self&#x27; &amp; \xe9 &#8230; http://a.example/s.js" content=b HTTP-EQUIV="content-security-policy"/>',
        ),
        (
            b"<meta content=script-src http-equiv='content-security-policy'>",
            b"<meta content=\"script-src http://a.example/s.js\" http-equiv='content-security-policy'>",
        ),
    ],
)
def test_policy_in_a_meta_element_permits_the_script(tag: bytes, expected: bytes) -> None:
    assert permit_in_meta(tag, URL, "N") == expected


@pytest.mark.parametrize(
    "tag",
    [
        b"<meta name=content-security-policy content='script-src a'>",
        b"<meta http-equiv=content-security-policy content>",
        b"<meta http-equiv=content-security-policy>",
        b"<meta http-equiv=refresh http-equiv=content-security-policy content='script-src a'>",
        b"<meta charset=utf-8>",
        b"<meta" + b" " * 60_000 + b">",
        b"<meta>",
    ],
)
def test_other_meta_element_is_unchanged(tag: bytes) -> None:
    assert permit_in_meta(tag, URL, "N") == tag
