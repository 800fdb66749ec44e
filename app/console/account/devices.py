"""The browser and the system that a user agent names."""

from collections.abc import Sequence

from app.console.shell.translation import gettext as _

BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
"""Parts of a user agent and the names of browsers. Most browsers also name those that follow."""

SYSTEMS = (
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)


def device_name(user_agent: str | None) -> str:
    """Return the browser and the system, or the user agent if it names no known browser."""
    text = user_agent or ""
    browser, system = _name(text, BROWSERS), _name(text, SYSTEMS)
    if browser is None:
        return text or _("Unknown")
    return _("%(browser)s on %(system)s", browser=browser, system=system) if system is not None else browser


def _name(text: str, names: Sequence[tuple[str, str]]) -> str | None:
    return next((name for part, name in names if part in text), None)
