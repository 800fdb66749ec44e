"""Use case of previews: connect to the sandbox of a project, or start it."""

from app.drivers.git.hosts import GitHosts
from app.drivers.sandbox.port import SandboxHost
from app.extensions import current_settings
from app.models.project import Project
from app.models.user import User
from app.resources.sandbox import lifecycle
from app.resources.sandbox.guards import confirm_start, count_start
from app.resources.sandbox.lifecycle import CreateResult, PreviewUrls, SandboxStarter
from app.resources.sandbox.schemas import CreateSandboxBody


def connect(project: Project, user: User, body: CreateSandboxBody, *, git: GitHosts, host: SandboxHost) -> CreateResult:
    """Connect to the sandbox of the project or start it. Only starts count in the rate `sandbox_create`."""
    settings, user_id, project_id = current_settings(), user.id, project.id
    urls = PreviewUrls.of(settings)
    handle = lifecycle.create(
        project,
        user,
        body,
        starter=SandboxStarter(git, host, settings.sandbox.module_proxy),
        urls=urls,
        limits=settings.limits.sandbox,
        count_start=lambda: count_start(user_id),
    )
    if handle is not None and handle.is_new:
        confirm_start()
    return CreateResult(
        handle, user_id, project_id, urls, host, body.uncommitted_file is not None, settings.limits.sandbox
    )
