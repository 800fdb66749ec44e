"""Check of the version on which a draft is based, before the transaction of a route."""

from app.access.scope import ProjectScope
from app.core.errors import InvalidRequest
from app.extensions import drivers
from app.resources.project_content.schemas.content import FileQuery
from app.resources.project_content.source import source_of
from app.resources.project_content.versions.commit_refs import is_version
from app.resources.project_draft import service
from app.resources.project_draft.schemas import SaveDraftBody

NOT_A_VERSION = "This is not a version of this file, or one with many newer versions. For an old version, send base_sha"


def check_base(scope: ProjectScope, body: SaveDraftBody, query: FileQuery) -> None:
    """Require that the base of a draft was a version of its file. Only an unknown base calls the Git host.

    Raises:
        InvalidRequest: it was not, or it cannot be verified within the limits.
    """
    blob = body.base_blob_sha
    if blob is None or service.is_known_base(
        scope.project, by=scope.user, branch=query.ref, file=query.file, blob_sha=blob
    ):
        return
    source = source_of(scope.project, drivers.git, branch=query.ref, user=scope.user)
    if not is_version(source, query.file, blob, base_sha=body.base_sha):
        raise InvalidRequest.field("base_blob_sha", NOT_A_VERSION)
