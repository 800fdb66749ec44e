"""Comparison of responses without their variable parts."""

import re

from tests.support.world import Answer

ITS_OWN = {"x-request-id", "date"}
MADE_UP = (
    (re.compile(rb"[a-z]{3}_[0-9a-z]{26}"), b"<id>"),
    (re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), b"<time>"),
)


def outline(answer: Answer, *typed: str) -> tuple[object, ...]:
    """Return the status, the headers in order and the body. Input of the caller and variable values are masked."""
    body = answer.response.get_data()
    for text in typed:
        body = body.replace(text.encode(), b"<typed>")
    for pattern, name in MADE_UP:
        body = pattern.sub(name, body)
    headers = tuple((name, value) for name, value in answer.headers if name.lower() not in ITS_OWN)
    return answer.status, headers, body
