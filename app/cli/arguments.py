"""Checks of command arguments that follow the rules of the API."""

from collections.abc import Callable

import click

from app.core.names import name_error


def checked_name(max_length: int) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """Return a callback that strips a name and raises `BadParameter` for a name that the API refuses."""

    def check(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
        if value is None:
            return None
        name = value.strip()
        if fault := name_error(name):
            raise click.BadParameter(fault)
        if len(name) > max_length:
            raise click.BadParameter(f"Must have at most {max_length} characters.")
        return name

    return check
