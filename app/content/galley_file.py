"""Reader of `.galley.yml`. Previews use its section `preview`, schemas its section `collections`."""

from app.content.front_matter.yaml_reader import read_yaml

FILES = (".galley.yml", ".galley.yaml")
MAX_BYTES = 256 * 1024


class InvalidGalleyFile(ValueError):
    """A file that is not a YAML mapping."""


def read_galley_file(data: bytes) -> dict[str, object]:
    """Return the sections of the file. An empty file has none.

    Raises:
        InvalidGalleyFile: the file is too large or is not valid YAML.
    """
    if len(data) > MAX_BYTES:
        raise InvalidGalleyFile(f".galley.yml is larger than {MAX_BYTES // 1024} KiB")
    try:
        document = read_yaml(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidGalleyFile(".galley.yml is not valid YAML") from error
    return document if isinstance(document, dict) else {}
