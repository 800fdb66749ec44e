"""Model of organizations, members, invitations and projects by the contract.

The model does not use the code. Every operation returns the expected status and applies a success to the model.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

ORGANIZATIONS, PROJECTS, PER_ORGANIZATION, MEMBERS = 3, 4, 2, 3


@dataclass
class Project:
    org: int
    name: str
    active: bool = True


@dataclass
class Org:
    name: str
    members: dict[int, str]
    default: bool = False
    active: bool = True
    invited: dict[int, str] = field(default_factory=dict)

    @property
    def owner(self) -> int:
        return next(person for person, role in self.members.items() if role == "owner")


def requires(*roles: str, archived_too: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Check the role, then the archived state, then apply the rule to an organization or a project."""

    def decorate(rule: Callable[..., int]) -> Callable[..., int]:
        @wraps(rule)
        def ask(self: "Model", person: int, number: int, *words: Any) -> int:
            target = self.projects.get(number) or self.orgs[number]
            org = self.orgs[target.org] if isinstance(target, Project) else target
            if person not in self.verified or org.members.get(person) not in roles:
                return 403
            return rule(self, person, target, *words) if archived_too or org.active else 409

        return ask

    return decorate


managers, owner = requires("owner", "admin"), requires("owner")


@dataclass
class Model:
    """The state of the model. Users, organizations and projects are numbered in the order of their creation."""

    verified: set[int]
    orgs: dict[int, Org] = field(default_factory=dict)
    projects: dict[int, Project] = field(default_factory=dict)
    made: int = 0

    def _owned(self, person: int) -> list[Org]:
        return [org for org in self.orgs.values() if org.owner == person]

    def _active(self, *orgs: Org) -> int:
        return sum(one.active and any(self.orgs[one.org] is org for org in orgs) for one in self.projects.values())

    def _full(self, org: Org) -> bool:
        return self._active(org) >= PER_ORGANIZATION or self._active(*self._owned(org.owner)) >= PROJECTS

    def _named(self, number: int, name: str, but: Project | None = None) -> bool:
        return any(one.org == number and one.name == name and one is not but for one in self.projects.values())

    def _make(self, person: int, name: str, *, default: bool) -> int:
        self.made += 1
        self.orgs[self.made] = Org(name, {person: "owner"}, default)
        return 201

    def create_org(self, person: int, name: str) -> int:
        owned = self._owned(person)
        if person not in self.verified or len(owned) >= ORGANIZATIONS:
            return 403
        return 409 if name in [org.name for org in owned] else self._make(person, name, default=False)

    def ensure_default(self, person: int) -> int:
        owned, names = self._owned(person), ["Personal", *(f"Personal {number}" for number in range(2, 9))]
        if person in self.verified and not any(org.default for org in owned):
            self._make(person, next(one for one in names if one not in [org.name for org in owned]), default=True)
        return 200 if person in self.verified else 403

    def verify(self, person: int) -> None:
        self.verified.add(person)
        for org in self.orgs.values():
            org.members |= {person: org.invited.pop(person)} if person in org.invited else {}
        self.ensure_default(person)

    @managers
    def rename_org(self, _person: int, org: Org, name: str) -> int:
        if any(other is not org and other.name == name for other in self._owned(org.owner)):
            return 409
        org.name = name
        return 200

    @requires("owner", "admin", archived_too=True)
    def set_org_status(self, _person: int, org: Org, active: bool) -> int:
        org.active = active or org.default
        return 409 if org.default and not active else 200

    @requires("owner", archived_too=True)
    def delete_org(self, _person: int, org: Org) -> int:
        if not org.default:
            self.projects = {key: one for key, one in self.projects.items() if self.orgs[one.org] is not org}
            self.orgs = {key: one for key, one in self.orgs.items() if one is not org}
        return 409 if org.default else 200

    @managers
    def invite(self, _person: int, org: Org, target: int, role: str) -> int:
        if target in org.members:
            return 409
        if target not in org.invited and len(org.members) + len(org.invited) >= MEMBERS:
            return 403
        (org.members if target in self.verified else org.invited)[target] = role
        return 200

    @staticmethod
    def _member(person: int, org: Org, target: int) -> int:
        return 404 if target not in org.members else 403 if target == person or target == org.owner else 200

    @managers
    def change_role(self, person: int, org: Org, target: int, role: str) -> int:
        status = self._member(person, org, target)
        org.members |= {target: role} if status == 200 else {}
        return status

    @requires("owner", "admin", archived_too=True)
    def remove(self, person: int, org: Org, target: int) -> int:
        if org.invited.pop(target, None) is not None:
            return 200
        if (status := self._member(person, org, target)) == 200:
            del org.members[target]
        return status

    @requires("admin", "editor", archived_too=True)
    def leave(self, person: int, org: Org) -> int:
        del org.members[person]
        return 200

    @owner
    def transfer(self, person: int, org: Org, target: int) -> int:
        if (status := self._member(person, org, target)) != 200 or org.default:
            return status if status != 200 else 409
        owned = self._owned(target)
        if len(owned) >= ORGANIZATIONS or self._active(org, *owned) > PROJECTS:
            return 403
        if org.name in [other.name for other in owned]:
            return 409
        org.members |= {person: "admin", target: "owner"}
        return 200

    def create_project(self, person: int, number: int, name: str) -> int:
        return self._create_project(person, number, number, name)

    @managers
    def _create_project(self, _person: int, org: Org, number: int, name: str) -> int:
        if self._full(org) or self._named(number, name):
            return 403 if self._full(org) else 409
        self.made += 1
        self.projects[self.made] = Project(number, name)
        return 201

    @managers
    def rename_project(self, _person: int, project: Project, name: str) -> int:
        if not project.active or self._named(project.org, name, project):
            return 409
        project.name = name
        return 200

    @requires("owner", "admin", archived_too=True)
    def set_project_status(self, _person: int, project: Project, active: bool) -> int:
        if active and not project.active and self._full(self.orgs[project.org]):
            return 403
        project.active = active
        return 200

    @requires("owner", archived_too=True)
    def move(self, person: int, project: Project, number: int) -> int:
        org = self.orgs[number]
        if org.owner != person:
            return 403
        if project.org != number and not org.active:
            return 409
        if project.org != number and project.active and self._active(org) >= PER_ORGANIZATION:
            return 403
        if self._named(number, project.name, project):
            return 409
        project.org = number
        return 200

    @requires("owner", "admin", archived_too=True)
    def delete_project(self, _person: int, project: Project) -> int:
        self.projects = {key: one for key, one in self.projects.items() if one is not project}
        return 200
