"""A workspace: a person, their organization, and a project on a repository of its own."""

from dataclasses import dataclass

from tests.factories import repository
from tests.samples.gitrepo import GitRepo
from tests.samples.sites import SMALL
from tests.world import Person, World


@dataclass
class Workspace:
    """What most tests of projects start from."""

    me: Person
    org: str
    project: str
    repository: str
    git: GitRepo


def make_workspace(world: World) -> Workspace:
    """All of it through the API, but for the repository."""
    me = world.person()
    org = me.new_organization()
    name, git = repository(world, SMALL)
    return Workspace(me, org, me.new_project(org, name), name, git)
