"""Errors of change sets."""

from collections.abc import Iterable

from app.core.errors import Conflict, ErrorMessage, PermissionDenied, UnprocessableEntity


class StateConflict(Conflict):
    """A step that the state of the set does not permit (409). `result` names the states that permit it."""

    code = "STATE"

    def __init__(self, state: str, permitted: Iterable[str]) -> None:
        names = sorted(map(str, permitted))
        message = f"The change set is “{state}”. This needs one of: {', '.join(names)}"
        super().__init__(message, result={"state": str(state), "permitted": names})


class NotApproved(Conflict):
    """A publication without the required approvals (409)."""

    code = "NOT_APPROVED"
    message = "The change set does not have the required approvals. Submit it, and ask other members to approve it"


class StaleApproval(Conflict):
    """A publication whose approvals belong to an older version of the set (409)."""

    code = "STALE_APPROVAL"
    message = "The change set was changed after its approval. It needs a new review"


class MissingBranch(Conflict):
    """A change set whose branch was deleted (409)."""

    code, message = "BRANCH_GONE", "The branch of this change set does not exist any more"


class AlreadyPublished(Conflict):
    """The publication of a published set (409)."""

    code, message = "ALREADY_PUBLISHED", "The change set is published already"


class NothingToPublish(Conflict):
    """A publication of a set without a change (409)."""

    code, message = "NOTHING_TO_PUBLISH", "The change set does not change anything on the site"


class RevertExists(Conflict):
    """A second revert of a set (409). `result` names the first one."""

    code = "REVERT_EXISTS"

    def __init__(self, set_id: str, title: str) -> None:
        message = ErrorMessage("“%(title)s” takes these changes back already", title=title)
        super().__init__(message, result={"change_set_id": set_id})


class SetBusy(Conflict):
    """A set whose branch another request is writing (409)."""

    code, message = "BRANCH_BUSY", "Another save of this change set is running. Try again"


class OwnReview(PermissionDenied):
    """A review of one's own changes (403)."""

    code = "OWN_REVIEW"
    message = (
        "Another member must review this change set: it contains your changes. If all members have edited it, an owner"
        " can invite a reviewer, or lower `required_approvals` of the project"
    )


class NotPublisher(PermissionDenied):
    """A publication by a member who may not publish in this project (403)."""

    message = "In this project only owners and admins may publish"


class HostRefused(UnprocessableEntity):
    """A publication that the Git host refused (422). The message is that of the host."""

    code = "HOST_REFUSED"
