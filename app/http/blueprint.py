"""The blueprint of API routes with its texts in the OpenAPI document, and the declarations of the API as a whole."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flask import Blueprint, Flask
from marshmallow import Schema

EXTENSION = "api_overview"


class ApiBlueprint(Blueprint):
    """The routes of one tag of the OpenAPI document. The name of the blueprint is the tag.

    Attributes:
        title, description: the texts of the tag.
        noun: the object of the views whose names do not contain one, in operation ids.
        parameters: descriptions of path and query parameters whose fields have none.
        patterns: patterns of path parameters that are not ids of a guard.
    """

    def __init__(
        self,
        name: str,
        import_name: str,
        *,
        title: str,
        description: str,
        noun: str = "",
        parameters: Mapping[str, str] | None = None,
        patterns: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(name, import_name)
        self.title, self.description, self.noun = title, description, noun
        self.parameters, self.patterns = parameters or {}, patterns or {}


@dataclass(frozen=True)
class Header:
    """A header of some requests or responses in the OpenAPI document."""

    name: str
    description: str
    schema: Mapping[str, object]


@dataclass(frozen=True)
class DocumentedEvent:
    """A message that the service sends: its type, the schema of `data`, and an example of it."""

    name: str
    description: str
    data: type[Schema]
    example: Mapping[str, object]


@dataclass(frozen=True)
class ApiOverview:
    """The declarations that concern all routes.

    Attributes:
        introduction: the text at the start of the OpenAPI document.
        first_tags: the blueprints whose tags come first. The others follow in the order of registration.
        failure_data: schema of `result` in the error envelope.
        flat_prefixes: below these paths the keys of `result` are repeated at the top level.
        fields: descriptions of fields by their name, for fields without a description of their own.
        events: the messages that the service sends.
    """

    introduction: str
    first_tags: tuple[ApiBlueprint, ...]
    failure_data: type[Schema]
    flat_prefixes: tuple[str, ...]
    fields: Mapping[str, str]
    events: tuple[DocumentedEvent, ...] = ()


def overview(app: Flask) -> ApiOverview:
    """Return the declarations of the API of an application."""
    value: ApiOverview = app.extensions[EXTENSION]
    return value


def tags(app: Flask) -> Iterator[ApiBlueprint]:
    """Yield the blueprint of each tag in the order of the document."""
    registered = (blueprint for blueprint in app.blueprints.values() if isinstance(blueprint, ApiBlueprint))
    yield from dict.fromkeys((*overview(app).first_tags, *registered))
