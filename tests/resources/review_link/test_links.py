"""Tests of the routes of review links: creation, renewal, list, revocation, mail and bad input."""

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core import clock
from app.extensions import db, keyring
from app.models.review_link import ReviewLink
from app.resources.git_provider.token_encryption import rekey
from app.resources.review_link import service
from app.security.secrets import hash_token
from tests.resources.change_set.conftest import Team, make_team
from tests.support.assertions.mailbox import Mailbox
from tests.support.parallel import at_once
from tests.support.world import Answer, Person, World


@pytest.fixture
def team(world: World) -> Team:
    return make_team(world)


def share(team: Team, one: dict[str, Any], by: Person | None = None, **body: Any) -> Answer:
    return (by or team.editor).again().post(f"/change-set/{one['id']}/review-links", body)


def secret_of(link: dict[str, Any]) -> str:
    return str(link["url"]).rpartition("/review/")[2]


def test_link_is_stored_as_a_hash_and_an_encrypted_secret(team: Team, app: Flask) -> None:
    one = team.edited()
    link = share(team, one, receiver="Anna", message="Please look", rights="approve", expires_in_days=3).ok(201)
    assert (link["state"], link["rights"], link["receiver"], link["opened"]) == ("active", "approve", "Anna", 0)
    assert link["created_by"]["id"] == team.editor.id
    with app.app_context():
        row = db.session.get_one(ReviewLink, link["id"])
        stored = " ".join(str(getattr(row, column.key)) for column in ReviewLink.__table__.columns)
        assert secret_of(link) not in stored
        assert row.secret_hash == hash_token(secret_of(link))
        assert row.expires_at - row.created_at == pytest.approx(timedelta(days=3), abs=timedelta(minutes=1))
    assert team.owner.get(f"/change-set/{one['id']}/review-links").ok()[0]["url"] == link["url"]


def test_equal_settings_return_the_same_link_with_the_later_end(team: Team) -> None:
    one = team.edited()
    first = share(team, one, expires_in_days=2).ok(201)
    again = share(team, one, expires_in_days=9).ok(200)
    assert (again["id"], again["url"]) == (first["id"], first["url"])
    assert again["expires_at"] > first["expires_at"]
    assert share(team, one, expires_in_days=1).ok(200)["expires_at"] == again["expires_at"]
    different: tuple[dict[str, Any], ...] = (
        {"rights": "view"},
        {"receiver": "Ben"},
        {"blocks_hosts": True},
        {"commit_sha": one["head_sha"]},
        {"password": "a long password"},
    )
    ids = {share(team, one, **more).ok(201)["id"] for more in different}
    assert len(ids | {first["id"]}) == 6
    assert share(team, one, password="a long password").ok(201)["id"] not in ids, "a link with a password is new"


def test_revoked_link_is_listed_without_an_address(team: Team) -> None:
    one = team.edited()
    link = share(team, one).ok(201)
    ended = team.admin.delete(f"/review-link/{link['id']}").ok()
    assert (ended["state"], ended["url"]) == ("revoked", None)
    assert team.editor.again().delete(f"/review-link/{link['id']}").ok()["updatedAt"] == ended["updatedAt"]
    assert share(team, one).ok(201)["id"] != link["id"]
    team.stranger.delete(f"/review-link/{link['id']}").fails(404, "NOT_FOUND")


def test_link_of_an_archived_project_can_be_revoked(team: Team) -> None:
    one = team.edited()
    link = share(team, one).ok(201)
    team.owner.again().patch(f"/project/status/{team.project}", {"status": "archived"}).ok()
    share(team, one).fails(409, "ARCHIVED")
    assert team.admin.delete(f"/review-link/{link['id']}").ok()["state"] == "revoked"


def test_only_publishers_share_list_and_revoke(team: Team) -> None:
    one = team.edited()
    link = share(team, one).ok(201)
    team.configure(publishers="admins")
    share(team, one).fails(403)
    team.editor.again().get(f"/change-set/{one['id']}/review-links").fails(403)
    team.editor.again().delete(f"/review-link/{link['id']}").fails(403)
    share(team, one, by=team.admin).ok(201)
    share(team, one, by=team.stranger).fails(404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"rights": "all"}, "rights"),
        ({"expires_in_days": 0}, "expires_in_days"),
        ({"expires_in_days": 31}, "expires_in_days"),
        ({"expires_in_days": "7"}, "expires_in_days"),
        ({"commit_sha": "main"}, "commit_sha"),
        ({"receiver": "x" * 121}, "receiver"),
        ({"message": "x" * 2001}, "message"),
        ({"password": "short"}, "password"),
        ({"email": "nobody"}, "email"),
        ({"blocks_hosts": "yes"}, "blocks_hosts"),
    ],
)
def test_bad_input_is_refused_at_the_field(team: Team, body: dict[str, Any], field: str) -> None:
    answer = share(team, team.edited(), **body)
    answer.fails(400, "VALIDATION_FAILED")
    assert [item["path"] for item in answer.json["errorMessage"]] == [field]


@pytest.mark.parametrize("step", ["close", "publish"])
def test_ended_set_has_no_new_link(team: Team, step: str) -> None:
    one = team.approved()
    if step == "publish":
        team.call(one, "publish").ok()
    else:
        team.editor.again().delete(f"/change-set/{one['id']}").ok()
    share(team, one).fails(409, "STATE")


def test_set_has_at_most_twenty_active_links(team: Team) -> None:
    one = team.edited()
    links = [share(team, one, receiver=f"R{number}").ok(201) for number in range(service.MAX_ACTIVE)]
    share(team, one, receiver="One more").fails(403, "LIMIT_REACHED")
    share(team, one, receiver="R3").ok(200)
    team.admin.delete(f"/review-link/{links[0]['id']}").ok()
    share(team, one, receiver="One more").ok(201)


def test_parallel_requests_make_one_link(team: Team) -> None:
    one = team.edited()
    answers = at_once(4, lambda: share(team, one))
    assert len({answer.ok(200, 201)["id"] for answer in answers}) == 1


def test_token_makes_no_link_that_approves(team: Team) -> None:
    one = team.edited()
    token = team.editor.again().post("/tokens", {"name": "CI", "scopes": ["publish", "read"]}).ok(201)["token"]
    headers = {"Authorization": f"Bearer {token}"}
    client, path = team.world.anonymous(), f"/change-set/{one['id']}/review-links"
    client.post(path, {"rights": "approve"}, headers=headers).fails(403, "SESSION_REQUIRED")
    client.post(path, {"rights": "comment"}, headers=headers).ok(201)
    reader = team.editor.again().post("/tokens", {"name": "Read", "scopes": ["read"]}).ok(201)["token"]
    client.get(path, headers={"Authorization": f"Bearer {reader}"}).fails(403)


def test_link_is_mailed_with_the_sender_as_the_receiver_of_answers(team: Team, app: Flask) -> None:
    link = share(team, team.edited("Secret title"), email="anna@mail.example.org", message="Secret text").ok(201)
    team.world.work_off()
    [mail] = Mailbox(app.config["SETTINGS"].mail.directory, "anna@mail.example.org").mails()
    text = mail.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert mail["Reply-To"] == team.editor.email
    assert link["url"] in text
    assert "Secret" not in text
    assert "Secret" not in str(mail["Subject"])


def test_revoked_link_is_not_mailed(team: Team, app: Flask) -> None:
    link = share(team, team.edited(), email="ben@mail.example.org").ok(201)
    team.admin.delete(f"/review-link/{link['id']}").ok()
    team.world.work_off()
    assert Mailbox(app.config["SETTINGS"].mail.directory, "ben@mail.example.org").mails() == []


def test_secret_is_readable_after_a_change_of_the_key(team: Team, app: Flask) -> None:
    link = share(team, team.edited()).ok(201)
    with app.app_context():
        assert rekey(keyring, (service.SECRETS,)).unreadable == []
        assert service.secret_of(db.session.get_one(ReviewLink, link["id"]), keyring) == secret_of(link)


def test_expired_link_has_no_address(team: Team, app: Flask) -> None:
    one = team.edited()
    link = share(team, one).ok(201)
    with app.app_context():
        db.session.execute(sa.update(ReviewLink).values(expires_at=clock.now() - timedelta(seconds=1)))
        db.session.commit()
    listed = team.owner.get(f"/change-set/{one['id']}/review-links").ok()
    assert [(entry["id"], entry["state"], entry["url"]) for entry in listed] == [(link["id"], "expired", None)]


def test_link_of_a_commit_of_another_set_is_refused(team: Team) -> None:
    one = team.edited()
    other = team.edited("Other", "Other text\n")
    for commit in (other["head_sha"], one["base_sha"], "0" * 40):
        answer = share(team, one, commit_sha=commit)
        answer.fails(400, "VALIDATION_FAILED")
        assert [item["path"] for item in answer.json["errorMessage"]] == ["commit_sha"]
    assert share(team, one, commit_sha=one["head_sha"]).ok(201)["commit_sha"] == one["head_sha"]
