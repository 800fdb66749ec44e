"""How a request to a model fails, each with its status and code (contract 4.12)."""

from app.core.errors import Invalid, TooManyRequests, UpstreamBroken


class KeyRequired(Invalid):
    """Neither the caller nor the operator brings a key (400)."""

    code, message = "AI_KEY_REQUIRED", "Send a key of a model provider; this service has none of its own"


class BudgetUsed(TooManyRequests):
    """The operator's tokens for this user are used up until tomorrow (429)."""

    code, message = (
        "AI_BUDGET_USED",
        "Your share of the service's own model is used up for today; use a key of your own",
    )


class TooManyStreams(TooManyRequests):
    """As many calls of this user as may run at once are running (429)."""

    code, message = "AI_TOO_MANY_STREAMS", "Too many of your requests to a model are running; wait for one to end"


class ProviderBusy(TooManyRequests):
    """The rate limit of the caller's own key is reached (429)."""

    code, message = "AI_RATE_LIMITED", "Your key's rate limit at the model provider is reached"


class InvalidAnswer(UpstreamBroken):
    """Twice the model answered with something that cannot be used (502)."""

    code, message = "AI_INVALID_ANSWER", "The model did not give a usable answer; try again"


class AnswerTooLong(UpstreamBroken):
    """The model was cut off by the limit of output tokens, and a part of this answer would do harm (502)."""

    code, message = "AI_ANSWER_TOO_LONG", "The answer would be longer than allowed; give the model less at once"
