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
    message = ErrorMessage("These changes do not have enough approvals yet. Ask other people for a review")


class StaleApproval(Conflict):
    """A publication whose approvals belong to an older version of the set (409)."""

    code = "STALE_APPROVAL"
    message = "The change set was changed after its approval. It needs a new review"


class MissingBranch(Conflict):
    """A change set whose branch was deleted (409)."""

    code, message = "BRANCH_GONE", ErrorMessage("These changes were deleted outside of Galley.")


class AlreadyPublished(Conflict):
    """The publication of a published set (409)."""

    code, message = "ALREADY_PUBLISHED", "The change set is published already"


class NothingToPublish(Conflict):
    """A publication of a set without a change (409)."""

    code, message = "NOTHING_TO_PUBLISH", ErrorMessage("These changes change nothing on the site")


class NothingToMove(Conflict):
    """A move of a file that the set does not change (409)."""

    code, message = "NOTHING_TO_MOVE", ErrorMessage("These changes do not change this page any more.")


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

    message = ErrorMessage("In this project only owners and admins may publish")


class HostRefused(UnprocessableEntity):
    """A publication that the Git host refused (422). The message is that of the host."""

    code = "HOST_REFUSED"
