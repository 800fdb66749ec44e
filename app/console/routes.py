"""All pages of the console. The import of a module registers its routes."""

from importlib import import_module
from pkgutil import walk_packages

import app.console
from app.console.blueprint import ROOT, blueprint

__all__ = ["ROOT", "blueprint"]

for module in walk_packages(app.console.__path__, "app.console."):
    if module.name != __name__:
        import_module(module.name)
