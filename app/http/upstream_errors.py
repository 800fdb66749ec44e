"""Groups of error codes that routes declare in `@endpoint(errors=…)`."""

UPSTREAM = ("UPSTREAM_BROKEN", "UPSTREAM_LATE", "UPSTREAM_THROTTLED")
"""Failures of an external service."""

GIT_READ = (
    *UPSTREAM,
    *(
        "NEEDS_RECONNECT",
        "REPO_UNAVAILABLE",
        "REPOSITORY_DAMAGED",
        "PROVIDER_NOT_CONFIGURED",
        "DISCONNECTED",
        "TOO_LARGE",
    ),
)
"""Failures of a read from a repository."""

GIT_WRITE = (*GIT_READ, "BRANCH_PROTECTED", "INVALID_BRANCH", "REFUSED", "CONFLICT")
"""Failures of a write to a repository."""

SAVE = (*GIT_WRITE, "BRANCH_BUSY", "INVALID_MESSAGE", "INVALID_PATH", "INVALID_CHANGE")
"""Failures of a commit."""
