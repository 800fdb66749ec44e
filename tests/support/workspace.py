"""Workspace: a user, an organization, and a project with its own repository."""

from dataclasses import dataclass

from tests.support.factories import repository
from tests.support.samples.gitrepo import GitRepo
from tests.support.samples.sites import SMALL
from tests.support.world import Person, World


@dataclass
class Workspace:
    """The usual start of a project test."""

    me: Person
    org: str
    project: str
    repository: str
    git: GitRepo


def make_workspace(world: World) -> Workspace:
    """Create the repository, and everything else through the API."""
    me = world.person()
    org = me.new_organization()
    name, git = repository(world, SMALL)
    return Workspace(me, org, me.new_project(org, name), name, git)
