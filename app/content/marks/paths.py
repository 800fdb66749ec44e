"""The paths of the files of a site that are content: pages and data files, not templates, programs or configuration."""

from app.content.filetypes import file_type
from app.content.schema.inferred import IGNORED

MAX_BYTES = 256 * 1024
"""Larger files have no marks."""

PAGES = frozenset(("markdown", "mdx", "markdoc"))
_DATA = frozenset(("yaml", "json", "toml"))
_PROGRAM_NAMES = """
    layouts themes archetypes node_modules _layouts _includes _sass _site vendor partials shortcodes templates
    components
"""
_PROGRAM = frozenset(_PROGRAM_NAMES.split())
_DATA_FOLDERS = frozenset(("data", "_data", "content", "i18n", "_content"))
_CONFIGURATIONS = frozenset(("package", "tsconfig", "jsconfig", "package-lock", "composer", "manifest", "theme"))


def is_content(path: str) -> bool:
    """Return whether a file can have marks."""
    *folders, name = path.split("/")
    language = file_type(path).language
    if any(folder.startswith(".") for folder in folders) or not _PROGRAM.isdisjoint(folders):
        return False
    if folders and folders[0] in IGNORED:
        return False
    if language in _DATA:
        stem = name.partition(".")[0].lower()
        is_configuration = stem in _CONFIGURATIONS or ".config." in name or name.startswith((".", "_category_"))
        return not is_configuration and not _DATA_FOLDERS.isdisjoint(folders)
    return language in PAGES or language == "html"
