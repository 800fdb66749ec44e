"""A receiver of webhooks: it records every request and answers as a test says."""

from standardwebhooks import Webhook

from tests.support.doubles.server import Call, Double, Reply, route


class WebhookReceiver(Double):
    """A server that accepts every message. `replies` are sent first, one for each request of a path."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: dict[str, list[Reply]] = {}

    @route("POST", "/{name:path}")
    def receive(self, call: Call, name: str) -> Reply:
        """Return the next reply of the path, or 204."""
        waiting = self.replies.get(name)
        return waiting.pop(0) if waiting else Reply(204)

    def received(self, name: str) -> list[Call]:
        """Return the requests of a path in the order of their arrival."""
        return self.calls(f"^POST /{name}$")


def verified(call: Call, secret: str) -> object:
    """Return the verified event of a request. Raises WebhookVerificationError."""
    return Webhook(secret).verify(call.body, {name.lower(): value for name, value in call.headers.items()})
