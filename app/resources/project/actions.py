"""Use cases of projects: a project on a branch or with the files of an archive, and its connection to a branch."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.concurrency.threadpool import offload
from app.core.archives import ArchiveRefused, read_archive
from app.core.errors import InvalidRequest
from app.core.outbound import UnrecordedAct
from app.drivers.git.hosts import GitHosts
from app.models.organization import Organization
from app.models.project import Project
from app.models.user import User
from app.resources.project import queries, service
from app.resources.project.queries import Shown
from app.resources.project.repository_access import (
    BranchRef,
    changed_branch,
    detect_site,
    make_connected,
    verify_access,
)
from app.resources.user.creation_limits import limits_of

SETTABLE = ("name", "image", "site_url", "paths", "visibility", "preview_network", "build_change_sets")
"""Columns of a new project that a request can contain."""


def create_on_branch(
    organization: Organization, target: BranchRef, sent: Mapping[str, Any], *, hosts: GitHosts, by: User
) -> UnrecordedAct[Shown]:
    """Connect a branch as a new project. The kind of its site is detected unless it was sent.

    Raises as `verify_access` and `service.create`.
    """
    reached = verify_access(target, organization.id, hosts=hosts, user=by)
    kind = detect_site(reached, framework=sent.get("framework"), generator=sent.get("generator"))
    values = {column: sent[column] for column in SETTABLE if column in sent}
    values |= {"framework": kind.framework, "generator": kind.generator}

    def record() -> Shown:
        limits = limits_of(organization.owner_id)
        return queries.reload_project(service.create(organization, values, reached, by=by, limits=limits))

    return UnrecordedAct(record)


def connect(project: Project, changes: Mapping[str, Any], *, hosts: GitHosts, by: User) -> UnrecordedAct[Shown]:
    """Change, renew or remove the connection to a branch. Raises as `changed_branch` and `verify_access`."""
    target = changed_branch(project, changes)
    reached = None if target is None else verify_access(target, project.organization_id, hosts=hosts, user=by)
    return UnrecordedAct(lambda: queries.reload_project(service.connect(project, reached, by=by)))


def create_from_archive(
    organization: Organization, data: bytes, *, name: str, project_name: str, hosts: GitHosts, by: User
) -> UnrecordedAct[Project]:
    """Check the limits, unpack the archive in a thread, then create the repository with its files and the project.

    Raises:
        InvalidRequest: the archive is refused. The other errors are those of `make_connected` and `service.create`.
    """
    service.check_creation(organization, project_name, limits=limits_of(organization.owner_id))
    with tempfile.TemporaryDirectory() as folder:
        try:
            offload(_unpack, data, Path(folder))
        except ArchiveRefused as error:
            raise InvalidRequest.field("archive", str(error)) from error
        repository = make_connected(organization, name, source=Path(folder), hosts=hosts, by=by)

    def record() -> Project:
        values, limits = {"name": project_name} | repository.values, limits_of(organization.owner_id)
        return service.create(organization, values, repository.reached, by=by, limits=limits)

    return UnrecordedAct(record, resource=repository)


def _unpack(data: bytes, folder: Path) -> None:
    for path, content in read_archive(data).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
