"""Which implementation serves each kind of driver: the only module that names concrete ones.

Each is imported when it is chosen, so that a node loads no client it does not use.
"""

from typing import Any

import sqlalchemy as sa

from app.core.file_cache import FileCache
from app.core.secrets import hash_token
from app.drivers.ai.port import Model, Models
from app.drivers.billing.port import BillingProvider
from app.drivers.git.hosts import GitHosts, GitHubHost, GitLabHost
from app.drivers.git.local import LocalGit
from app.drivers.git.port import Person
from app.drivers.git.rate import RateBudgets
from app.drivers.git.rest import Shared, TokenSupplier
from app.drivers.git.turns import Turn, turns_in
from app.drivers.http import HttpClient
from app.drivers.jobs.port import JobEngine
from app.drivers.mail.port import MailTransport
from app.drivers.sandbox.port import SandboxHost
from app.drivers.social_login.port import SocialLogin, SocialLogins
from app.drivers.storage.near import NearStore
from app.drivers.storage.port import ObjectStore
from config import Settings


def build(settings: Settings, engine: sa.Engine) -> dict[str, Any]:
    """Every kind of driver for these settings, by name."""
    return {
        "jobs": job_engine(engine),
        "git": git_hosts(settings),
        "mail": mail_transport(settings),
        "storage": object_store(settings),
        "trees": near_store(settings),
        "social_login": social_logins(settings),
        "ai": ai_models(settings),
        "sandbox": sandbox_host(settings),
        "billing": billing_provider(settings),
    }


def git_hosts(settings: Settings) -> GitHosts:
    """Local bare repositories where `GIT_LOCAL` allows them, GitHub and GitLab with our apps where they are set up."""
    bot = Person(settings.git.bot_name, settings.git.bot_email)
    shared = Shared(http=HttpClient(limits=settings.limits.outbound), budgets=rate_budgets(settings))
    hold = turns_in(settings.server.instance_dir / "turns")
    local = LocalGit(settings.git.local_root, bot=bot) if settings.git.local_enabled else None
    return GitHosts(
        local,
        github=github_host(settings, bot, shared, hold),
        gitlab=gitlab_host(settings, bot, shared, hold),
    )


def rate_budgets(settings: Settings) -> RateBudgets:
    """What Git hosts say of their limits, known to every node where `REDIS_URL` is set."""
    if settings.redis_url is None:
        return RateBudgets()
    from app.drivers.git.rate_board import RedisBoard

    return RateBudgets(RedisBoard(settings.redis_url))


def github_host(settings: Settings, bot: Person, shared: Shared, hold: Turn) -> GitHubHost:
    """GitHub; its app needs all of `GITHUB_APP_*`."""
    from app.drivers.git.github import GitHubProvider
    from app.drivers.git.github_accounts import GitHubAccounts
    from app.drivers.git.github_app import GitHubApp

    about = settings.github
    app = None
    if about.app_id and about.app_slug and about.client_id and about.client_secret and about.private_key:
        app = GitHubApp(
            url=about.url,
            api_url=about.api_url,
            app_id=about.app_id,
            slug=about.app_slug,
            client_id=about.client_id,
            client_secret=about.client_secret,
            private_key=about.private_key,
            shared=shared,
        )

    def provider(token: TokenSupplier, patience_s: float) -> GitHubProvider:
        return GitHubProvider(about.api_url, token, bot=bot, shared=shared, turn=hold, patience_s=patience_s)

    return GitHubHost(provider, GitHubAccounts(about.api_url, shared=shared), app)


def gitlab_host(settings: Settings, bot: Person, shared: Shared, hold: Turn) -> GitLabHost:
    """GitLab; its OAuth application needs `GITLAB_CLIENT_ID` and `GITLAB_CLIENT_SECRET`."""
    from app.drivers.git.gitlab import GitLabProvider
    from app.drivers.git.gitlab_accounts import GitLabAccounts
    from app.drivers.git.gitlab_oauth import GitLabOAuth

    about = settings.gitlab
    app = None
    if about.client_id and about.client_secret:
        app = GitLabOAuth(url=about.url, client_id=about.client_id, client_secret=about.client_secret, shared=shared)

    def provider(token: TokenSupplier, patience_s: float) -> GitLabProvider:
        return GitLabProvider(about.url, token, bot=bot, shared=shared, turn=hold, patience_s=patience_s)

    return GitLabHost(provider, GitLabAccounts(about.url, shared=shared), app)


def billing_provider(settings: Settings) -> BillingProvider:
    """`BILLING_DRIVER`: none or paddle."""
    billing = settings.billing
    if billing.driver == "paddle":
        from app.drivers.billing.paddle import PaddleBilling

        return PaddleBilling(
            billing.api_url,
            billing.api_key or "",
            webhook_secrets=billing.webhook_secrets,
            limits=settings.limits.outbound,
        )
    from app.drivers.billing.none import NoBilling

    return NoBilling()


def job_engine(engine: sa.Engine) -> JobEngine:
    """`procrastinate` on PostgreSQL, `embedded` on SQLite."""
    if engine.dialect.name == "postgresql":
        from app.drivers.jobs.procrastinate import ProcrastinateJobs

        return ProcrastinateJobs(engine)
    from app.drivers.jobs.embedded import EmbeddedJobs

    return EmbeddedJobs(engine)


def mail_transport(settings: Settings) -> MailTransport:
    """`MAIL_DRIVER`: console, file or smtp."""
    match settings.mail.driver:
        case "smtp":
            from app.drivers.mail.smtp import SmtpMail

            return SmtpMail(settings.mail.smtp_url or "", sender=settings.mail.sender)
        case "file":
            from app.drivers.mail.file import FileMail

            return FileMail(settings.mail.directory, sender=settings.mail.sender)
        case _:
            from app.drivers.mail.console import ConsoleMail

            return ConsoleMail(sender=settings.mail.sender)


def object_store(settings: Settings) -> ObjectStore:
    """`STORAGE_DRIVER`: local or s3."""
    storage = settings.storage
    if storage.driver == "s3":
        from app.drivers.storage.s3 import S3Store

        return S3Store(
            storage.s3_bucket or "",
            endpoint_url=storage.s3_endpoint_url,
            region=storage.s3_region,
            public_url=storage.s3_public_url,
            limits=settings.limits.outbound,
        )
    from app.drivers.storage.local import LocalStore

    return LocalStore(storage.directory)


def near_store(settings: Settings) -> NearStore:
    """The same object store behind a folder of this node, for objects that never change under their key."""
    folder, limits = settings.server.instance_dir / "cache" / "trees", settings.limits.stores
    return NearStore(object_store(settings), FileCache(folder, max_bytes=limits.near_bytes))


def social_logins(settings: Settings) -> SocialLogins:
    """The login providers that have a client id: GitHub's OAuth 2 as `social_a`, an OIDC issuer as `social_b`."""
    from app.drivers.social_login.code_flow import Client

    made: dict[str, SocialLogin] = {}
    a, b = settings.social_a, settings.social_b
    http = HttpClient(limits=settings.limits.outbound)
    if a.client_id:
        from app.drivers.social_login.oauth2 import OAuth2Login

        client = Client(a.client_id, a.client_secret or "")
        made["social_a"] = OAuth2Login(client, url=a.url, api_url=a.api_url, http=http)
    if b.client_id:
        from app.drivers.social_login.oidc import OidcLogin

        made["social_b"] = OidcLogin(Client(b.client_id, b.client_secret or ""), issuer=b.issuer, http=http)
    return made


def ai_models(settings: Settings) -> Models:
    """Every provider of models at the base URL the operator set, whoever's key is used there."""
    from app.drivers.ai.anthropic import Anthropic
    from app.drivers.ai.openai_compatible import OpenAiCompatible

    ai = settings.ai
    http = HttpClient(limits=settings.limits.outbound, pool_size=settings.limits.ai.kept_connections)
    made: dict[str, Model] = {
        name: OpenAiCompatible(upstream.base_url, http=http)
        for name, upstream in (("openai", ai.openai), ("gemini", ai.gemini), ("xai", ai.xai))
    }
    return Models(made | {"anthropic": Anthropic(ai.anthropic.base_url, http=http)})


def sandbox_host(settings: Settings) -> SandboxHost:
    """`SANDBOX_DRIVER`: local, hosted or none."""
    sandbox, limits = settings.sandbox, settings.limits.sandbox
    match sandbox.driver:
        case "local":
            from app.drivers.sandbox.local import LocalSandboxes

            return LocalSandboxes(settings.server.instance_dir / "sandboxes", egress=sandbox.egress, limits=limits)
        case "hosted":
            from app.drivers.sandbox.hosted import HostedSandboxes

            return HostedSandboxes(
                sandbox.api_url or "",
                sandbox.api_key or "",
                domain=sandbox.domain,
                deployment=hash_token(settings.security.secret_key)[:16],
                egress=sandbox.egress,
                http=HttpClient(limits=settings.limits.outbound),
            )
        case _:
            from app.drivers.sandbox.none import NoSandboxes

            return NoSandboxes()
