"""Errors of requests to a model (contract 4.12)."""

from app.core.errors import BadGateway, InvalidRequest, TooManyRequests


class KeyRequired(InvalidRequest):
    """Neither the caller nor the operator provides a key (400)."""

    code, message = "AI_KEY_REQUIRED", "Send a key of a model provider. This service has no key of its operator"


class BudgetUsed(TooManyRequests):
    """The remaining daily budget of the operator's tokens does not cover the request (429)."""

    code, message = (
        "AI_BUDGET_USED",
        "Your remaining daily budget for the model of this service does not cover this request."
        " Send less text, use your own key, or try again tomorrow",
    )


class TooManyStreams(TooManyRequests):
    """The user has the largest permitted number of running calls (429)."""

    code, message = "AI_TOO_MANY_STREAMS", "Too many of your requests to a model are running. Wait until one ends"


class ProviderBusy(TooManyRequests):
    """The rate limit of the caller's own key is reached (429)."""

    code, message = "AI_RATE_LIMITED", "The rate limit of your key at the model provider is reached"


class InvalidAnswer(BadGateway):
    """The model replied twice with text that cannot be used (502)."""

    code, message = "AI_INVALID_ANSWER", "The model did not return a usable answer. Try again"


class AnswerTooLong(BadGateway):
    """The reply reached the limit of output tokens, and an incomplete one would damage a file (502)."""

    code, message = "AI_ANSWER_TOO_LONG", "The answer would exceed the permitted length. Send less text at once"
