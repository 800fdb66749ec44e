"""What is asked of the Git host before a project is written: the reachable branch and the kind of site on it."""

from dataclasses import dataclass
from typing import Any

from app.extensions import drivers
from app.http.scope import Scope
from app.resources.project.connecting import Place, Reached, changed_place, reach, recognise


@dataclass(frozen=True)
class Prepared:
    """The columns of a new project, and the branch it is connected to."""

    values: dict[str, Any]
    reached: Reached


def prepare_project(scope: Scope, body: dict[str, Any]) -> Prepared:
    """Read repository and branch with the caller's credential; detect what the body does not tell of the site."""
    place = Place(body["provider"], body["repository"], body["repository_id"], body["branch"])
    reached = reach(place, scope.organization.id, hosts=drivers["git"], actor=scope.actor)
    kind = recognise(reached, framework=body.get("framework"), generator=body.get("generator"))
    settable = ("name", "image", "site_url", "paths", "visibility")
    values = {column: body[column] for column in settable if column in body}
    return Prepared(values | {"framework": kind.framework, "generator": kind.generator}, reached)


def prepare_connection(scope: Scope, body: dict[str, Any]) -> Reached | None:
    """Read the repository and branch that the project is to be connected to; None is to disconnect it."""
    place = changed_place(scope.project, body)
    if place is None:
        return None
    return reach(place, scope.project.organization_id, hosts=drivers["git"], actor=scope.actor)
