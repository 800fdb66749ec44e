"""The declaration of an event type, and the table of all types.

`app.resources.outbound_webhook.schemas.events` declares the types, and `subscribers` publishes them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

event_types: dict[str, "EventType"] = {}
"""All declared types by name. `schemas.events` fills it."""


@dataclass(frozen=True)
class EventType:
    """A type of event: its description, the Marshmallow schema of `data`, and an example of it.

    With `is_deployed`, an event of the working branch calls the deploy hooks of the project.
    """

    name: str
    description: str
    data: type
    example: Mapping[str, object]
    is_deployed: bool = False

    def __post_init__(self) -> None:
        """Add the type to the table. Raises ValueError if its name is declared."""
        if self.name in event_types:
            raise ValueError(f"two event types are named {self.name}")
        event_types[self.name] = self
