"""Terms of `docs/console-terms.md`: texts that editors see contain none that the console does not use."""

import re
from pathlib import Path

from tests.console.test_translations import PLACEHOLDER, files_of_texts

TERMS = Path(__file__).parents[2] / "docs" / "console-terms.md"
OTHER_PAGES = (
    *("console/organization/", "console/templates/organization/", "console/templates/admin/"),
    *("console/templates/tokens/", "console/templates/account/connections.html"),
    *("console/templates/project/settings.html", "console/templates/project/connect.html"),
    *("console/templates/project/rebuild.html", "console/templates/project/requested_build.html"),
    *("drivers/git/", "resources/git_provider/", "resources/project/imports.py"),
    "resources/project/repository_access.py",
)
"""The files with texts about the connection of a site and about programs."""

ALLOWED = {
    "Cloning repository": "a step of the sandbox, which the API names",
    "Connect a repository": "owners and administrators add a project",
    "Connect a repository to this project first": "an owner has not finished the project",
    "Repository connected": "the notice of this page",
    "Main": "the name of the navigation for screen readers",
    "The branch has more than 400,000 files. Remove some of them and read it again": "the index in the settings",
    "The file .gitattributes sends this file to Git LFS. Nothing was saved. Commit it with Git": "for a developer",
    "The value as JSON": "a field that has no other input",
    "up to date": "the index in the settings and in the administration",
    "Connect": "the menu of the gear of owners, administrators and developers",
}


def unused_terms() -> list[str]:
    """Return the terms of the first column of the second table."""
    section = TERMS.read_text().partition("## Terms that the console does not use")[2].partition("\n## ")[0]
    columns = re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)
    return [term.strip("` ") for column in columns[1:] for term in column.split(",")]


def test_texts_for_editors_contain_only_terms_of_the_console() -> None:
    names = "|".join(map(re.escape, unused_terms()))
    unused = re.compile(rf"(?<![\w.])(?:{names})(?:s|es)?(?!\w)|repositories|^(?:changes|connect)$", re.IGNORECASE)
    texts = {
        text
        for text, files in files_of_texts().items()
        if unused.search(PLACEHOLDER.sub("", text)) and not all(file.startswith(OTHER_PAGES) for file in files)
    }
    assert texts == set(ALLOWED)
