"""Unusual values, headers and fragments of requests: NUL, surrogates, huge numbers and similar."""

TEXTS = (
    "", " ", "\0", "a\0b", "\ud800", "\u202e", "\ufeff", "e\u0301", "𝔘𝔫𝔦", "👩‍👩‍👧", "'; DROP TABLE users;--", "../../etc/passwd", "%00", "%ff",
    "<script>", "a\r\nX-Injected: 1", "-1", "null", "true", "1e999", "NaN", "{}", "org_7zzzzzzzzzzzzzzzzzzzzzzzzz", "x" * 300, "ü" * 5_000,
    "A" * 70_000, "\\", "/", ".git/config", "--upload-pack=x", "refs/heads/main", "main~1", "@{u}", "2026-99-99", "9" * 400, "\t\n", "\x7f",
    "user@example.org", "a@b", "@", "http://127.0.0.1/", "http://[::1", "//a]b", "https://x:99999999/", "javascript:alert(1)", "0x10", "１２", "İ", "ß", "\u2028", "%s%n", "${7*7}", "{{7*7}}",
)  # fmt: skip
NUMBERS = (
    0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, 0.1, -0.0, 1e308, 1e-320, float("nan"), float("inf"), -float("inf"),
)  # fmt: skip
PATH_PARTS = (
    "%00", "%ff", "%2e%2e", "..", ".", "%2f", "//", ";a=b", "%25", "é", "%ed%a0%80", "%0d%0a", "+", " ", "A" * 9000, "nonsense", "%", "?", "*",
)  # fmt: skip
QUERY_PARTS = (
    "limit=0", "limit=-1", "limit=999999999999999999999999", "limit=x", "limit=1.5", "limit=%00", "limit=1&limit=2", "cursor=x", "cursor=%00",
    "cursor=eyJhIjoxfQ", "cursor=" + "A" * 600, "file=..%2f..%2fetc", "file=%ff", "file=%00", "file=a&file=b", "file=", "ref=-x", "ref=%00",
    "ref=a..b", "path=..", "path=%2f", "q=%22", "q=%00", "q=" + "(" * 200, "q=%ed%a0%80", "status=x", "type=%00", "from=2026-13-01",
    "to=-1", "from=0001-01-01&to=9999-12-31", "currency=%00", "provider=x", "search=%25", "code=%00&state=%00", "error=%0d%0aX:1", "state=é",
    "w=99999999999", "size=-1", "=", "&&&", "%", "a[]=1", "action=%00", "x=" + "y" * 7000, "installation_id=%00", "code=" + "c" * 5000,
)  # fmt: skip
HEADERS = (
    ("Content-Type", "text/plain"), ("Content-Type", "application/json; charset=utf-16"), ("Content-Type", "application/xml"),
    ("Content-Type", "application/json;"), ("Content-Type", ""), ("Content-Type", "multipart/form-data"), ("Content-Type", "\xff/\xff"),
    ("Content-Type", "multipart/form-data; boundary=" + "b" * 300), ("Content-Type", "application/x-www-form-urlencoded"),
    ("Content-Encoding", "gzip"), ("Content-Encoding", "br"), ("Transfer-Encoding", "chunked"), ("Content-Length", "0"),
    ("Content-Length", "5"), ("Content-Length", "-1"), ("Content-Length", "x"), ("Content-Length", "99999999999"), ("Host", "evil.example"),
    ("Host", "a b"), ("Host", ""), ("Host", "[::1"), ("Host", "x" * 300), ("Host", "127.0.0.1:99999"), ("X-Forwarded-For", "x, 1.2.3.4, ::1"), ("X-Forwarded-For", "\xff"),
    ("X-Request-Id", "\xff" * 9), ("X-Request-Id", "x" * 5000), ("Origin", "null"), ("Origin", "http://[::1"), ("Origin", "https://evil.example"),
    ("Origin", "http://a]b"), ("If-Match", "*"), ("If-Match", '"'), ("If-Match", 'W/"x", "y"'), ("If-None-Match", "*"), ("If-None-Match", '"\xff"'),
    ("If-Modified-Since", "yesterday"), ("If-Range", '"x"'), ("If-Unmodified-Since", "Thu, 01 Jan 1970 00:00:00 GMT"), ("Range", "bytes=-1"), ("Range", "bytes=9-1"),
    ("Range", "bytes=0-" + "9" * 60), ("Range", "lines=1"), ("Range", "bytes=0-0,1-1,2-2"), ("Accept", "text/event-stream"),
    ("Accept", "q=;;;"), ("Accept-Encoding", "gzip;q=x, *;q=0"), ("Accept-Encoding", "zstd"), ("Accept-Language", "x" * 500),
    ("Idempotency-Key", ""), ("Idempotency-Key", "k" * 256), ("Idempotency-Key", "\xff"), ("Idempotency-Key", "same"), ("Cookie", "session_token="),
    ("Cookie", "session_token=" + "x" * 4000), ("Cookie", "session_token=\xff"), ("Cookie", "=;;=;\0"), ("Cookie", 'session_token="\\000"'),
    ("Authorization", "Basic \xff"), ("Authorization", "Bearer x"), ("X-AI-Key", "\xff"), ("X-AI-Provider", "nonsense"), ("X-AI-Model", "../x"),
    ("X-AI-Model", "m" * 500), ("Last-Event-ID", "-1"), ("Upgrade", "websocket"), ("Expect", "100-continue"), ("User-Agent", "\xff" * 2000),
    ("Referer", "\xff"), ("X-HTTP-Method-Override", "DELETE"), ("Paddle-Signature", "ts=x;h1=y"), ("X-Hub-Signature-256", "sha256=\xff"),
    ("X-GitHub-Event", "push"), ("X-GitHub-Delivery", "\0"), ("X-Gitlab-Token", "\xff"), ("X-Gitlab-Event", "Push Hook"),
)  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", "X" * 50)
SPLICES = (
    b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\u0000", b"\\ud800", b"\\u12", b"NaN",
    b"Infinity", b"-", b"1e999", b"9" * 400, b'"a":1,"a":2,', b"[" * 40, b"{" * 5000, b"//", b"\r\n\r\n", b"--limit--", b"--limit\r\n",
    b'Content-Disposition: form-data; name="file"\r\n', b'; filename="\xff"', b"; filename*=UTF-8''%ff", b"\x89PNG\r\n\x1a\n", b"GIF89a\xff\xff\xff\xff",
)  # fmt: skip
