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

MODEL = (
    *UPSTREAM,
    *("AI_KEY_REQUIRED", "AI_KEY_REJECTED", "AI_REFUSED", "AI_OUT_OF_CREDIT", "AI_RATE_LIMITED", "AI_UNAVAILABLE"),
    *("AI_BUDGET_USED", "AI_TOO_MANY_STREAMS", "AI_INVALID_ANSWER", "AI_ANSWER_TOO_LONG"),
)
"""Failures of a call to a language model."""

SIGN_UP_REFUSED = ("SIGN_UP_CLOSED",)
"""A sign-up that the operator does not accept."""
