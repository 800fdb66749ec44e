"""Expected status of every endpoint for every caller: section 4 in `authz.json`, and the extensions."""

import json
from pathlib import Path
from typing import NamedTuple

from tests.contract.specification import CALLERS, EXTENSIONS, SPECIFICATION, VARIANTS

DATA = json.loads(Path(__file__).with_name("authz.json").read_text())
EMPTY_BODY_PROVES = "an empty body (400) proves that the guard let the caller through"

# The guard name of the table differs from the declared one: the service applies a further rule.
_READ_AS = {
    "alias": "verifyAuth+self",
    "alias of git-provider/create": "verifyAuth",
    "org:VIEW_MEMBERS, not owner": "org:VIEW_MEMBERS",
}


class Expected(NamedTuple):
    """An endpoint of the table, or a variant of its request."""

    area: str
    method: str
    path: str
    words: str
    cells: dict[str, str]
    empty_body: bool = False

    @property
    def route(self) -> tuple[str, str]:
        """Return the method and the served path."""
        return self.method, self.path.partition("#")[0]


def expected() -> list[Expected]:
    """Return every row: the specification in its order, then the extensions."""
    areas = {(row.method, row.path): row.area for row in SPECIFICATION}
    table = [
        Expected(
            areas[row["method"], row["path"]],
            row["method"],
            row["path"],
            decided(row["guard"]),
            row["cells"],
            EMPTY_BODY_PROVES in row["note"],
        )
        for row in DATA["endpoints"]
    ]
    return table + [
        Expected(row.area, row.method, row.path, row.guard, dict(zip(CALLERS, row.cells.split(), strict=True)))
        for row in (*EXTENSIONS, *VARIANTS)
    ]


def decided(words: str) -> str:
    """Return the guard name without the mark of an open point of the specification."""
    words = words.replace(" (decided)", "")
    return _READ_AS.get(words, words)


def fits(status: int, cell: str) -> bool:
    """Return whether a status matches the cell. `2xx` means 200, 201 or 202 as in the contract, or 204 of the AI SDK."""
    return status in (200, 201, 202, 204) if cell in ("2xx", "200") else str(status) == cell
