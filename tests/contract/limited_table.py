"""Expected status of every endpoint for members of O who are limited to projects, derived from the table.

A limited member has the chosen role in a chosen project and none in the others. In the organization the member is an
editor.
"""

from tests.contract.expected import Expected
from tests.contract.token_table import reach

LIMITED_CALLERS = ("limited_editor", "limited_admin", "limited_elsewhere")
"""Members who are limited to P with each role, and an administrator of another project of O only."""

OF_ORGANIZATION = frozenset({("DELETE", "/project/:projectId"), ("PATCH", "/project/git/:projectId")})
"""Endpoints of a project that need a role in the whole organization."""


def limited_cells(row: Expected) -> dict[str, str]:
    """Return the expected status of each limited caller."""
    editor, stranger = row.cells["editor"], row.cells["nonmember"]
    if row.path.startswith("/webhook/"):
        return dict.fromkeys(LIMITED_CALLERS, stranger)
    if not reach(row).project:
        return dict.fromkeys(LIMITED_CALLERS, editor)
    admin = editor if row.route in OF_ORGANIZATION else row.cells["admin"]
    return dict(zip(LIMITED_CALLERS, (editor, admin, stranger), strict=True))
