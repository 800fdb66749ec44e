"""All pages of the console. The import of a module registers its routes."""

from importlib import import_module
from pkgutil import walk_packages

import app.console
from app.console.blueprint import GUEST_ROOT, ROOT, blueprint, guest_blueprint

__all__ = ["GUEST_ROOT", "ROOT", "blueprint", "guest_blueprint"]

for module in walk_packages(app.console.__path__, "app.console."):
    if module.name != __name__:
        import_module(module.name)
