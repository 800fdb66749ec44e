"""URL rules that compile the function that builds their URLs when it is first called."""

from collections.abc import Callable
from functools import cache
from typing import Any

from werkzeug.routing import Rule

Builder = Callable[..., tuple[str, str]]


class LazyRule(Rule):
    """A rule of Werkzeug that compiles its URL builders on first use.

    Werkzeug compiles two functions for each rule, which takes most of the time of `create_app` after the imports, and
    `url_for` calls few of them. `_compile_builder` is private; a test fails if Werkzeug no longer calls it.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Builder:
        """Return a function that compiles the builder of this rule when it is called."""
        compiled = cache(super()._compile_builder)

        def build(self: Rule, /, **values: Any) -> tuple[str, str]:
            return compiled(append_unknown)(self, **values)

        return build
