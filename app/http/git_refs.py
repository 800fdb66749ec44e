"""Validators of branch names and shas in bodies and queries, by the rules of `app.core.refs`."""

from typing import Annotated

from marshmallow import ValidationError, fields

from app.core.refs import is_branch_name, is_sha
from app.http.json_schema import BRANCH, SHA, described


@described(**BRANCH)
def branch_name(value: str) -> None:
    """Validate the name of a branch."""
    if not is_branch_name(value):
        raise ValidationError("This is not a valid branch name.")


BranchName = Annotated[str | None, fields.String(load_default=None, validate=branch_name)]
"""A branch in a query string. None is the working branch."""


@described(**SHA)
def full_sha(value: str) -> None:
    """Validate a complete commit or blob sha."""
    if not is_sha(value):
        raise ValidationError("This must be the 40 hexadecimal digits of a commit or blob.")
