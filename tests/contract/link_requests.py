"""Valid requests for review links: a link to a new change set."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from app.extensions import db, keyring
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet, ChangeSetState
from app.models.review_link import LinkRights
from app.resources.review_link import service
from app.resources.review_link.service import LinkOptions
from tests.contract.change_set_requests import SET, create_set
from tests.contract.scene import Scene
from tests.support.world import Browser

Key = tuple[str, str]
LINK, LINKS = "/review-link/:link_id", f"{SET}/review-links"
OPTIONS = LinkOptions(LinkRights.COMMENT, days=7, receiver="Anna", message="Are the hours right?")
BODIES = {
    ("POST", LINKS): lambda *_: {
        "rights": "comment", "expires_in_days": 7, "receiver": "Anna", "message": "Are the hours right?"
    }
}  # fmt: skip


def ids_of(scene: Scene, key: Key) -> dict[str, str]:
    """Return the path variables: a new link to a new set of the member `extra`."""
    return {"link_id": create_link(scene, create_set(scene, ChangeSetState.DRAFT))} if key[1].startswith(LINK) else {}


def create_link(scene: Scene, set_id: str) -> str:
    """Create an active link."""
    with scene.app.app_context():
        row = db.session.get_one(ChangeSet, set_id)
        link, _ = service.create(row, OPTIONS, None, by=scene.extra, ring=keyring)
        link.opened, link.opened_at = 1, utcnow_ms() - timedelta(hours=1)
        db.session.commit()
        return link.id


def with_listed_link(scene: Scene, _key: Key, _who: Browser) -> Iterator[dict[str, Any]]:
    """Send the list of links of the newest set after one was created."""
    with scene.app.app_context():
        set_id = db.session.scalars(db.select(ChangeSet.id).order_by(ChangeSet.id.desc()).limit(1)).one()
    create_link(scene, set_id)
    yield {}
