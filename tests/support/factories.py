"""Rows for tests, written directly."""

import secrets
from typing import Any

from app.core.permissions import Access, Role
from app.extensions import db
from app.models.organization import Membership, MembershipProject, Organization
from app.models.project import LocalRepository, Project, Provider
from app.resources.project.events import project_connected
from tests.support.samples.gitrepo import Content, GitRepo
from tests.support.world import Person, World


def organization(world: World, owner: Person, *members: tuple[Person, Role]) -> str:
    """Create an organization with its owner and other members, and return its id."""
    with world.app.app_context():
        made = Organization(name=f"Org {secrets.token_hex(4)}", owner_id=owner.id)
        db.session.add(made)
        db.session.flush()
        for person, role in ((owner, Role.OWNER), *members):
            db.session.add(Membership(organization_id=made.id, user_id=person.id, role=role))
        db.session.commit()
        return made.id


def limit(world: World, org_id: str, person: Person, **roles: Role) -> None:
    """Limit a member to projects: the role by the id of a project. Without one the member sees no project."""
    with world.app.app_context():
        db.session.get_one(Membership, (org_id, person.id)).access = Access.PROJECTS
        for project_id, role in roles.items():
            key = {"organization_id": org_id, "user_id": person.id, "project_id": project_id}
            db.session.add(MembershipProject(**key, role=role))
        db.session.commit()


def repository(world: World, files: dict[str, Content]) -> tuple[str, GitRepo]:
    """Create a bare repository of the `local` provider, and return its name and the repository."""
    name = f"acme/r{secrets.token_hex(5)}"
    return name, GitRepo(world.git_root / f"{name}.git", files)


def project(world: World, owner: Person, org_id: str, name: str, **fields: Any) -> str:
    """Create a project on a local repository, enqueue its index, and return its id."""
    with world.app.app_context():
        if db.session.get(LocalRepository, name) is None:
            db.session.add(LocalRepository(name=name, organization_id=org_id))
        made = Project(
            organization_id=org_id,
            creator_id=owner.id,
            name=f"Project {secrets.token_hex(4)}",
            provider=Provider.LOCAL,
            repository=name,
            branch="main",
            **fields,
        )
        db.session.add(made)
        db.session.flush()
        project_connected.publish(made)
        db.session.commit()
        return made.id
