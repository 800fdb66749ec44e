"""Tests with secrets in every input and setting, and a search for them in responses, logs and stored data.

Between planting and searching, the tests call every route of the authorization table, sign users in, and let Git hosts
and model providers fail with messages that repeat the secrets.
"""

import base64
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from flask import Flask

from app.security.secrets import new_api_token
from tests.contract.matrix import Matrix
from tests.contract.outside import Outside
from tests.contract.scene import PASSWORD, template
from tests.resources.ai.questions import BODIES as QUESTIONS
from tests.support.applications import application
from tests.support.assertions import canaries
from tests.support.databases import another_database
from tests.support.doubles.paddle import KEY
from tests.support.doubles.server import Fault, Reply
from tests.support.git_hosts import HOOK_A, HOOK_B, connect_github, connect_gitlab, login_of, new_project
from tests.support.new_account import Newcomer
from tests.support.payments import SECRETS
from tests.support.tokens import Program
from tests.support.world import Person, World

pytestmark = pytest.mark.one_database

KEYS = [base64.b64encode(secrets.token_bytes(32)).decode() for _ in range(2)]
ENVIRONMENT = {
    "SECRET_KEY": "canary-secret-key-" + secrets.token_hex(16),
    "ENCRYPTION_KEYS": f"k2:{KEYS[0]},k1:{KEYS[1]}",
    "METRICS_TOKEN": "canary-metrics-token-" + secrets.token_hex(8),
    "ANTHROPIC_API_KEY": "canary-anthropic-key",
    "GEMINI_API_KEY": "canary-gemini-key",
    "XAI_API_KEY": "canary-xai-key",
    "SMTP_URL": "smtp://mailer:canary-smtp-password@127.0.0.1:2525",
    "S3_BUCKET": "bucket",
}
ZSTANDARD = b"\x28\xb5\x2f\xfd"
PLANTED = {
    ENVIRONMENT["SECRET_KEY"], *KEYS, ENVIRONMENT["METRICS_TOKEN"], "canary-anthropic-key", "canary-gemini-key",
    "canary-xai-key", "canary-smtp-password", "key-of-the-operator", "word-of-client-a", "word-of-client-b",
    "canary-github-client", "canary-gitlab-client", HOOK_A, HOOK_B, KEY, *SECRETS, PASSWORD,
}  # fmt: skip


@pytest.fixture(scope="module")
def app(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """Build the contract application with a secret in every secret variable."""
    home = tmp_path_factory.mktemp("canaries")
    with Outside() as outside, another_database(store, home) as url:
        outside.hosts.github.client_secret = "canary-github-client"
        outside.hosts.gitlab.client_secret = "canary-gitlab-client"
        with application(outside.settings(url, home, **ENVIRONMENT)) as flask_app:
            flask_app.extensions["outside"] = outside
            yield flask_app


class RecordedUse:
    """The recorded use of the service. `sent` contains the secrets that users send or receive by mail.

    `issued` contains the API tokens, each of which one response contains.
    """

    def __init__(self, app: Flask, matrix: Matrix) -> None:
        self.app, self.matrix, self.world, self.sent = app, matrix, World(app), set[str]()
        self.issued = set[str]()
        self.outside: Outside = app.extensions["outside"]
        self.hosts, self.anyone = self.outside.hosts, Newcomer(app, self.world)

    def secret(self, what: str) -> str:
        """Create a new secret."""
        made = f"canary-{what}-{secrets.token_hex(8)}"
        self.sent.add(made)
        return made

    def every_route(self) -> None:
        """Call the cells of permitted callers, refused callers and callers without a session."""
        self.matrix.cells(callers=("anonymous", "owner", "nonmember"))
        self.sent |= {person.token for person in self.matrix.scene.people.values()}

    def passwords_and_codes(self) -> None:
        """Sign in, sign out and change passwords. Each step is refused once first."""
        me = self.anyone
        me.password = self.secret("first")
        me.sign_up().ok()
        me.verify(f"{(int(me.mailbox.codes()[-1]) + 1) % 1_000_000:06d}").fails(400)
        me.verify().ok()
        me.sign_in(self.secret("wrong")).fails(401)
        me.sign_in().ok()
        me.post("/auth/forget-password", {"email": me.email}).ok()
        self.world.work_off()
        token, second = me.mailbox.tokens()[-1], self.secret("second")
        self.sent |= {token, *me.mailbox.codes()}
        me.post("/auth/reset-password", {"token": self.secret("reset"), "newPassword": second}).fails(400)
        me.post("/auth/reset-password", {"token": token, "newPassword": second}).ok()
        me.sign_in(second).ok()
        third = self.secret("third")
        change = {"currentPassword": self.secret("present"), "newPassword": third}
        me.post("/auth/change-password", change).fails(400)
        me.post("/auth/change-password", change | {"currentPassword": second}).ok()
        me.delete(f"/user/delete/{me.get('/auth/get-session').ok()['user']['id']}", {"password": self.secret("bye")})

    def tokens(self) -> None:
        """Create, use, rotate and misplace API tokens. Half of them are valid until the end."""
        me = self.world.person()
        org, key = me.new_organization(), {"Idempotency-Key": "token"}
        body = {"name": "Deploy", "scopes": ["read", "admin"]}
        for path in ("/tokens", f"/organization/{org}/service-accounts"):
            created = me.post(path, body, headers=key).ok(201)
            me.post(path, body, headers=key).ok(201)
            rotated = me.post(f"{path}/{created['id']}/rotate", {}, headers={"Idempotency-Key": f"{path} again"}).ok()
            secrets_sent = [created["token"], rotated["token"], new_api_token(), created["token"][:-1] + "!"]
            self.issued |= {created["token"], rotated["token"]}
            self.sent.update(secrets_sent[2:])
            for secret in secrets_sent:
                bot = Program(self.app, secret)
                bot.get(f"/organization/{org}")
                bot.post("/organization", {"org_name": [secret]})
                bot.post("/tokens", body)
                bot.get(f"/tokens/{secret}")
                bot.get(f"/project/{secret}?token={secret}")
                me.get(f"/organization/{org}", headers={"Authorization": f"bearer  {secret}"})

    def invalid_bodies(self) -> None:
        """Send secrets in invalid forms: wrong type, truncated JSON, too long, in the query."""
        who, routes = self.matrix.scene.owner, {
            "/auth/sign-up/email": ("password",), "/auth/sign-in/email": ("password",),
            "/auth/reset-password": ("token", "newPassword"), "/auth/verify-email": ("otp",),
            "/auth/change-password": ("currentPassword", "newPassword"),
            "/git-provider/create": ("access_token", "refresh_token", "installation_access_token"),
            "/git-provider/rotate": ("old_refresh_token", "access_token", "refresh_token"),
            "/api/auth/provider_a": ("code", "state"), "/api/auth/provider_b": ("code", "state", "code_verifier"),
            "/api/ai/copilot": ("apiKey",),
        }  # fmt: skip
        for path, names in routes.items():
            word = self.secret("shape")
            for value in ([word], {"a": word}, word * 400, word + "\0"):
                body = {"email": "x@mail.example.org", "provider": "gitlab", "prompt": "x"} | dict.fromkeys(
                    names, value
                )
                who.again().post(path, body)
            who.again().post(path, data=f'{{"{names[0]}": "{word}', content_type="application/json").fails(400)
            who.again().post(f"{path}?{names[0]}={word}", {})

    def credentials(self) -> None:
        """Connect, refresh and use accounts at both hosts. The hosts repeat tokens in their errors."""
        me, (github, gitlab) = self.world.person(), (self.hosts.github, self.hosts.gitlab)
        before = {*github.grants, *gitlab.grants}
        a, b = self.hosts.on_github(login_of(me)), self.hosts.on_gitlab(login_of(me))
        connect_github(me, self.hosts, a.installation)
        connect_gitlab(me, self.hosts)
        org = me.new_organization()
        projects = [new_project(me, org, "github", a.name), new_project(me, org, "gitlab", b.name)]
        self.world.work_off()
        self.provide_tokens(me)
        for project, repository in zip(projects, (a, b), strict=True):
            for fault in self.echo_faults():
                fault.where = "GET|POST|PATCH|HEAD"
                (github if repository is a else gitlab).faults.append(fault)
                file = {"path": f"{secrets.token_hex(3)}.md", "action": "create", "content": "x"}
                body = {"message": "Try", "base_sha": repository.git.head(), "files": [file]}
                me.post(f"/project-content/{project}/commit", body)
                me.get(f"/project/{project}/branches")
                me.post(f"/project-content/{project}/reindex", {})
                self.world.work_off()
                (github if repository is a else gitlab).faults.clear()
        for provider in ("provider_a", "provider_b"):
            me.post(f"/api/auth/{provider}", {"code": self.secret("code"), "installation_id": a.installation}).fails(
                422
            )
            me.post(f"/api/auth/{provider}/refresh", {})
        for one in me.get(f"/git-provider/{me.id}").ok():
            me.delete(f"/git-provider/{one['id']}").ok()
        self.sent |= {*github.grants, *gitlab.grants} - before
        for call in (*github.journal, *gitlab.journal):
            self.sent.add(call.headers.get("Authorization", "").removeprefix("Bearer ").removeprefix("Basic "))
            if call.body and "oauth" in call.path:
                self.sent |= {value for name, value in call.data.items() if name in ("refresh_token", "code", "token")}
        self.sent.discard("")

    def provide_tokens(self, me: Person) -> None:
        """Save tokens that users provide."""
        body = {"provider": "gitlab", "access_token": self.secret("access"), "refresh_token": self.secret("refresh")}
        me.post("/git-provider/create", body, headers={"Idempotency-Key": "one"}).fails(422)
        body["access_token"] = self.hosts.gitlab.token(login_of(me))
        me.post("/git-provider/create", body, headers={"Idempotency-Key": "two"}).ok(200)
        pair = {"provider": "gitlab", "access_token": body["access_token"], "refresh_token": self.secret("rotated")}
        me.post("/git-provider/rotate", pair | {"old_refresh_token": self.secret("unknown")}).fails(404)
        me.post("/git-provider/rotate", pair | {"old_refresh_token": body["refresh_token"]}).ok()

    def echo_faults(self) -> list[Fault]:
        """Return refusals and failures whose messages contain all secrets."""
        told = " ".join({*self.hosts.github.grants, *self.hosts.gitlab.grants})
        said = {"message": f"Bad: {told}", "error_description": told}
        return [Fault("", times=40, reply=Reply(status, said)) for status in (422, 403, 500, 404)]

    def keys_of_models(self) -> None:
        """Send AI keys in a header and in the body to a provider that repeats them."""
        models, who = self.outside.models, self.matrix.scene.owner
        for fault in (None, 401, 400, 500, 429, "html", "cut"):
            for name, question in QUESTIONS.items():
                key = self.secret("ai-key")
                models.fault, models.fault_body = (
                    fault,
                    b'{"error": {"message": "Incorrect API key: %s"}}' % key.encode(),
                )
                data: dict[str, Any] = {"provider": "openai", "model": "m"}
                who.again().post(f"/api/ai/{name}", question | data | {"apiKey": key}).response.get_data()
                head = {"X-AI-Key": key, "X-AI-Provider": "openai", "X-AI-Model": "m"}
                who.again().post(f"/api/ai/{name}", question, headers=head).response.get_data()
        models.fault = None

    def metrics_and_notifications(self) -> None:
        """Read the metrics, send notifications and run the commands of an operator."""
        for token in (self.secret("metrics"), ENVIRONMENT["METRICS_TOKEN"]):
            self.anyone.client.get("/metrics", headers={"Authorization": f"Bearer {token}"}).get_data()
        word = self.secret("hook")
        for provider, header in (("provider_a", "X-Hub-Signature-256"), ("provider_b", "X-Gitlab-Token")):
            self.world.anonymous().post(f"/api/webhooks/{provider}", {}, headers={header: word}).fails(400)
        self.world.anonymous().post("/api/webhooks/billing", {}, headers={"Paddle-Signature": word}).fails(400)
        self.world.anonymous().get("/openapi.json")


def _content(file: Path) -> bytes:
    """Return the content of a file of a backup, decompressed."""
    data = file.read_bytes()
    if not data.startswith(ZSTANDARD):
        return data
    with zstandard.ZstdDecompressor().stream_reader(data) as reader:
        return reader.read()


def test_secrets_are_not_returned_logged_or_stored(
    app: Flask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with canaries.recorded(app) as recorder, canaries.logged() as log:
        use = RecordedUse(app, Matrix(app, template(tmp_path / "site.git")))
        use.every_route()
        use.passwords_and_codes()
        use.tokens()
        use.invalid_bodies()
        use.credentials()
        use.keys_of_models()
        use.metrics_and_notifications()
        waiting = canaries.dump(app)
        use.world.work_off(within_s=120)
    printed = app.test_cli_runner().invoke(args=["config", "check"]).output
    app.test_cli_runner().invoke(args=["backup", str(tmp_path / "backup")])
    backup = b"".join(_content(file) for file in (tmp_path / "backup").rglob("*") if file.is_file())
    assert b"tok_" in backup
    places = {
        "answers": bytes(recorder.told), "log": log.getvalue().encode(), "waiting": waiting,
        "stored": canaries.dump(app), "printed": printed.encode(),
        "backup": backup,
    }  # fmt: skip
    planted = PLANTED | use.sent | recorder.sessions
    planted.add(use.hosts.github.private_key.splitlines()[3])
    with capsys.disabled():
        sizes = ", ".join(f"{name} {len(text) // 1024:,} KiB" for name, text in places.items())
        print(f"\n{len(planted)} secrets looked for in {sizes}")
    assert len(planted) > 150
    assert len(recorder.sessions) > 5
    assert canaries.hits(planted, places) == []
    assert [places["answers"].count(secret.encode()) for secret in use.issued] == [1, 1, 1, 1]
    assert canaries.hits(use.issued, {name: text for name, text in places.items() if name != "answers"}) == []


def test_public_value_is_detected_in_each_output(app: Flask) -> None:
    """Check that the search of the other test detects a value in each output."""
    world = World(app)
    with canaries.recorded(app) as recorder, canaries.logged() as log:
        me = world.person()
        me.post("/organization", {"org_name": "canary-name"}).ok(201)
        world.anonymous().get("/auth/canary-path")
        app.logger.info("canary-line")
    payload = {"answers": bytes(recorder.told), "stored": canaries.dump(app), "log": log.getvalue().encode()}
    assert {where for where, *_ in canaries.hits(["canary-name"], payload)} == {"answers", "stored"}
    assert {where for where, *_ in canaries.hits(["canary-line"], payload)} == {"log"}
    assert canaries.hits(["123456"], {"a": b"at .123456 1234567 x-123456", "b": b"code 123456."}) == []
    assert len(canaries.hits(["123456"], {"a": b'{"code": "123456"}'})) == 1
