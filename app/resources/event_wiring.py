"""Imports what announces itself by being imported: the jobs and subscribers of every resource."""

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

import app.resources


def register_jobs_and_subscribers() -> None:
    """Load each resource's `jobs` and `subscribers`, where it has them."""
    for resource in iter_modules(app.resources.__path__, "app.resources."):
        if resource.ispkg:
            for part in ("jobs", "subscribers"):
                if find_spec(f"{resource.name}.{part}"):
                    import_module(f"{resource.name}.{part}")
