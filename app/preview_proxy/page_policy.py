"""Content security policies of the pages of previews: who may frame a page, and the script that it receives.

A value may contain several policies, separated by commas. Of directives with the same name the first counts.
"""

import re
from html import escape, unescape

HEADERS = ("content-security-policy", "content-security-policy-report-only")
SCRIPT_DIRECTIVES = ("script-src-elem", "script-src", "default-src")
"""The first of them that a policy has decides about the scripts of a page."""

_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*+(=[^\t\n\f\r />=]*+|[^\t\n\f\r />=]++)"
    rb"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\t\n\f\r >]*+)))?+"
)


def without_frame_ancestors(value: str) -> str:
    """Return a value without the directives that name the permitted frames."""
    policies = (
        "; ".join(part for part in _directives(policy) if _name(part) != "frame-ancestors")
        for policy in value.split(",")
    )
    return ", ".join(filter(None, policies))


def forbids_scripts(value: str) -> bool:
    """Return True if a policy puts the page into a sandbox without scripts."""
    directives = [part.lower().split() for policy in value.split(",") for part in _directives(policy)]
    return any(names[0] == "sandbox" and "allow-scripts" not in names for names in directives)


def permit_script(value: str, url: str, nonce: str) -> str:
    """Return a value that permits a script with this address and nonce."""
    return ", ".join(_permitted(policy, url, nonce) for policy in value.split(","))


def _permitted(policy: str, url: str, nonce: str) -> str:
    """Add the address to a policy. With `'strict-dynamic'`, which ignores addresses, add the nonce.

    A nonce in other policies would forbid the scripts that `'unsafe-inline'` permits.
    """
    directives = _directives(policy)
    first = {_name(part): number for number, part in reversed([*enumerate(directives)])}
    name = next((name for name in SCRIPT_DIRECTIVES if name in first), None)
    if name is None:
        return policy.strip()
    sources = [source for source in directives[first[name]].split()[1:] if source.lower() != "'none'"]
    is_strict = "'strict-dynamic'" in map(str.lower, sources)
    sources.append(f"'nonce-{nonce}'" if is_strict else url)
    if name == "default-src":
        return "; ".join([*directives, " ".join(["script-src", *sources])])
    directives[first[name]] = " ".join([name, *sources])
    return "; ".join(directives)


def permit_in_meta(tag: bytes, url: str, nonce: str) -> bytes:
    """Return a `meta` element. If it contains a policy, this policy permits the script."""
    attributes: dict[bytes, re.Match[bytes]] = {}
    position = len(b"<meta")
    while (match := _ATTRIBUTE.match(tag, position)) is not None:
        position = match.end()
        attributes.setdefault(match[1].lower(), match)
    content = attributes.get(b"content")
    if content is None or content.lastindex == 1:
        return tag
    if _value(attributes.get(b"http-equiv")).lower() != "content-security-policy":
        return tag
    permitted = escape(permit_script(_value(content), url, nonce)).encode("latin-1", "xmlcharrefreplace")
    return b"".join([tag[: content.end(1)], b'="', permitted, b'"', tag[content.end() :]])


def _value(match: re.Match[bytes] | None) -> str:
    if match is None:
        return ""
    return unescape(next(filter(None, match.groups()[1:]), b"").decode("latin-1"))


def _directives(policy: str) -> list[str]:
    return [part.strip() for part in policy.split(";") if part.strip()]


def _name(directive: str) -> str:
    return directive.split()[0].lower()
