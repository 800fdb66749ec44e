"""Use case of previews: connect to the sandbox of a project, or start it."""

from app.drivers.git.hosts import GitHosts
from app.drivers.sandbox.port import SandboxHost
from app.extensions import current_settings
from app.models.project import Project
from app.models.user import User
from app.resources.sandbox import connection
from app.resources.sandbox.connection import CreateResult
from app.resources.sandbox.guards import confirm_start, count_start
from app.resources.sandbox.lifecycle import PreviewUrls, SandboxStarter
from app.resources.sandbox.schemas import CreateSandboxBody


def connect(project: Project, user: User, body: CreateSandboxBody, *, git: GitHosts, host: SandboxHost) -> CreateResult:
    """Connect to the sandbox of the project or start it. Only starts count in the rate `sandbox_create`."""
    settings, user_id = current_settings(), user.id
    result = connection.connect(
        project,
        user,
        body,
        starter=SandboxStarter(git, host, settings.sandbox.module_proxy),
        urls=PreviewUrls.of(settings),
        limits=settings.limits.sandbox,
        count_start=lambda: count_start(user_id),
    )
    if result.handle is not None and result.handle.is_new:
        confirm_start()
    return result
