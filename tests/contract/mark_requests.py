"""Valid requests for source marks: an editable preview of project P that has ended, with one marked file."""

import secrets
from collections.abc import Iterator
from typing import Any

from app.content.marks import Position
from app.core.ids import new_id
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.sandbox import MarkRange, PreviewState, Sandbox
from app.resources.source_marks.queries import packed
from tests.contract.scene import Scene
from tests.support.world import Browser

POSITIONS = (Position("/title", None, (2, 2), "value"), Position(None, 0, (5, 7), "text"))


def with_marked_file(scene: Scene, _key: tuple[str, str], _who: Browser) -> Iterator[dict[str, Any]]:
    """Send two numbers that were given out, and one that was not."""
    sandbox, now = new_id("sbx"), utcnow_ms()
    with scene.app.app_context():
        db.session.add(
            Sandbox(
                id=sandbox,
                project_id=scene.project,
                user_id=scene.extra.id,
                label=secrets.token_hex(16),
                node="node",
                state=PreviewState.STOPPED,
                expires_at=now,
                ended_at=now,
                editable=True,
                first_mark=0,
            )
        )
        db.session.flush()
        range_of = {"first_number": 12, "last_number": 13, "positions": packed(POSITIONS, (20, 80))}
        db.session.add(MarkRange(sandbox_id=sandbox, path="content/posts/hello.md", blob_sha="1" * 40, **range_of))
        db.session.commit()
    yield {"query_string": {"numbers": "12,13,14"}}
