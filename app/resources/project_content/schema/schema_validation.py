"""Validation of saved files against the schema of their branch."""

import json
from collections.abc import Iterator, Sequence

from app.concurrency.threadpool import switch
from app.content.data_text import ROOT
from app.content.filetypes import file_type
from app.content.front_matter.reader import LANGUAGES, split_front_matter
from app.content.front_matter.toml_reader import read_toml
from app.content.front_matter.values import ValueBudget, plain
from app.content.front_matter.yaml_reader import read_yaml
from app.content.schema.model import ContentSchema
from app.content.schema.validation import REQUIRED, collection_of, is_missing_body, validate
from app.content.text import decode
from app.core.errors import ErrorMessage, FieldError, InvalidRequest
from app.resources.project_content.save_request import FileEdit

MESSAGE = ErrorMessage("Some fields have values that the site does not accept. Nothing was saved")
UNREADABLE = "The front matter cannot be read"
MAX_DATA_CHARACTERS = 256 * 1024
"""Longest text of a data file that is parsed in a request. The budget of the readers has the same size."""


def check(schema: ContentSchema, edits: Sequence[FileEdit], *, prefix: str | None = None) -> None:
    """Compare the written files of a save with their collections. Files without a collection are accepted.

    The path of an error is the JSON pointer into the front matter, after `files.<number>` unless `prefix` replaces it.
    `/body` is the text of a page.

    Raises:
        InvalidRequest: a value is invalid. `result.invalid` lists file, pointer and message.
    """
    errors = list(_errors(schema, edits))
    if errors:
        invalid = [
            {"file": edits[n].change.path, "pointer": pointer, "message": message} for n, pointer, message in errors
        ]
        raise InvalidRequest(
            MESSAGE,
            fields=[
                FieldError((f"files.{n}" if prefix is None else prefix) + pointer, message)
                for n, pointer, message in errors
            ],
            result={"invalid": invalid},
        )


def _errors(schema: ContentSchema, edits: Sequence[FileEdit]) -> Iterator[tuple[int, str, ErrorMessage]]:
    """Yield the number of an edit, a pointer and a message."""
    for number, change in enumerate(edit.change for edit in edits):
        switch()  # Other requests run between the files of a large save.
        collection = collection_of(schema, change.path) if change.content is not None else None
        if collection is None or change.content is None:
            continue
        values = values_of(change.path, change.content)
        if isinstance(values, str):
            yield number, "", ErrorMessage(values)
            continue
        collection = collection_of(schema, change.path, values)
        if collection is not None:
            for error in validate(schema, collection, values):
                yield number, error.pointer, ErrorMessage(error.template, **error.values)
            body = _body_of(change.path, change.content)
            if body is not None and is_missing_body(schema, collection, body):
                yield number, "/body", ErrorMessage(REQUIRED)


def values_of(path: str, data: bytes) -> dict[str, object] | str:
    """Return the values of a page or of a data file, or the reason why they cannot be read."""
    text, _ = decode(data)
    language = file_type(path).language
    if text is None:
        return UNREADABLE
    if language in LANGUAGES:
        front = split_front_matter(text)
        return front.problem or front.values or {}
    if len(text) > MAX_DATA_CHARACTERS:
        size = f"{MAX_DATA_CHARACTERS // 1024} KiB"
        return f"The file is larger than {size}, so its values cannot be compared with the schema"
    try:
        values = _data(language, text)
    except (ValueError, RecursionError) as error:
        return f"{UNREADABLE}: {str(error)[:200]}"
    if isinstance(values, list):
        return {ROOT: values}
    return values if isinstance(values, dict) else "The file must contain a mapping"


def _body_of(path: str, data: bytes) -> str | None:
    """Return the text below the front matter of a page, or None for other files."""
    text, _ = decode(data)
    return split_front_matter(text).body if text is not None and file_type(path).language in LANGUAGES else None


def _data(language: str | None, text: str) -> object:
    if language == "json":
        return plain(json.loads(text, parse_constant=str), ValueBudget())
    if language == "toml":
        return plain(read_toml(text), ValueBudget())
    return read_yaml(text) or {}
