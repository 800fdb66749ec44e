"""Selection of the drivers from the settings. An implementation is imported when it is selected."""

from dataclasses import dataclass, replace

import sqlalchemy as sa

from app.core.limits import MIB
from app.drivers.ai.port import Model, ModelRegistry
from app.drivers.billing.port import BillingProvider
from app.drivers.git.hosts import GitHosts
from app.drivers.http.client import HttpClient
from app.drivers.http.pinned import PinnedClient
from app.drivers.jobs.port import JobEngine
from app.drivers.mail.port import MailTransport
from app.drivers.registry.git import git_hosts
from app.drivers.sandbox.port import SandboxHost
from app.drivers.social_login.port import SocialLogin, SocialLogins
from app.drivers.storage.cached import CachedObjectStore
from app.drivers.storage.file_cache import FileCache
from app.drivers.storage.port import ObjectStore
from app.security.secrets import hash_token
from config import Settings


@dataclass(frozen=True)
class Drivers:
    """The drivers of an application, one field per kind."""

    git: GitHosts
    mail: MailTransport
    storage: ObjectStore
    trees: CachedObjectStore
    thumbnails: FileCache
    social_login: SocialLogins
    ai: ModelRegistry
    sandbox: SandboxHost
    billing: BillingProvider
    webhooks: PinnedClient
    jobs: JobEngine


def build_drivers(settings: Settings, engine: sa.Engine) -> Drivers:
    """Return the drivers for these settings."""
    storage = object_store(settings)
    return Drivers(
        git=git_hosts(settings),
        mail=mail_transport(settings),
        storage=storage,
        trees=cached_store(settings, storage),
        thumbnails=thumbnail_cache(settings),
        social_login=social_logins(settings),
        ai=ai_models(settings),
        sandbox=sandbox_host(settings),
        billing=billing_provider(settings),
        webhooks=PinnedClient(allowed_networks=settings.webhooks.allowed_networks),
        jobs=job_engine(engine),
    )


def billing_provider(settings: Settings) -> BillingProvider:
    """Return the payment provider of `BILLING_DRIVER`: none or paddle."""
    billing = settings.billing
    if billing.driver == "paddle":
        from app.drivers.billing.paddle.provider import PaddleBilling

        return PaddleBilling(
            billing.api_url,
            billing.api_key or "",
            webhook_secrets=billing.webhook_secrets,
            limits=settings.limits.outbound,
        )
    from app.drivers.billing.none import NoBilling

    return NoBilling()


def job_engine(engine: sa.Engine) -> JobEngine:
    """Return the job engine: `procrastinate` on PostgreSQL, `embedded` on SQLite."""
    if engine.dialect.name == "postgresql":
        from app.drivers.jobs.postgresql.engine import ProcrastinateJobs

        return ProcrastinateJobs(engine)
    from app.drivers.jobs.embedded.engine import EmbeddedJobs

    return EmbeddedJobs(engine)


def mail_transport(settings: Settings) -> MailTransport:
    """Return the mail transport of `MAIL_DRIVER`: console, file or smtp."""
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
    """Return the object store of `STORAGE_DRIVER`: local or s3."""
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


def cached_store(settings: Settings, store: ObjectStore) -> CachedObjectStore:
    """Return an object store with a cache folder of this node, for objects that never change."""
    folder, limits = settings.server.instance_dir / "cache" / "trees", settings.limits.stores
    return CachedObjectStore(store, FileCache(folder, max_bytes=limits.cache_bytes))


def thumbnail_cache(settings: Settings) -> FileCache:
    """Return the cache folder of this node for small versions of images."""
    folder = settings.server.instance_dir / "cache" / "thumbnails"
    return FileCache(folder, max_bytes=settings.limits.stores.thumbnail_bytes)


def social_logins(settings: Settings) -> SocialLogins:
    """Return the configured login providers: OAuth 2 of GitHub as `social_a`, an OIDC issuer as `social_b`."""
    logins: dict[str, SocialLogin] = {}
    a, b = settings.social_a, settings.social_b
    http = HttpClient(limits=settings.limits.outbound)
    if a.client_id:
        from app.drivers.social_login.code_flow import OAuthClient
        from app.drivers.social_login.oauth2 import OAuth2Login

        client = OAuthClient(a.client_id, a.client_secret or "")
        logins["social_a"] = OAuth2Login(client, url=a.url, api_url=a.api_url, http=http)
    if b.client_id:
        from app.drivers.social_login.code_flow import OAuthClient
        from app.drivers.social_login.oidc import OidcLogin

        logins["social_b"] = OidcLogin(OAuthClient(b.client_id, b.client_secret or ""), issuer=b.issuer, http=http)
    return logins


def ai_models(settings: Settings) -> ModelRegistry:
    """Return all AI providers with the base URLs of the operator. The key is an argument of each call."""
    from app.drivers.ai.anthropic import Anthropic
    from app.drivers.ai.openai_compatible import OpenAiCompatible

    ai = settings.ai
    http = HttpClient(limits=settings.limits.outbound, pool_size=settings.limits.ai.pool_connections)
    models: dict[str, Model] = {
        name: OpenAiCompatible(upstream.base_url, http=http)
        for name, upstream in (("openai", ai.openai), ("gemini", ai.gemini), ("xai", ai.xai))
    }
    return ModelRegistry(models | {"anthropic": Anthropic(ai.anthropic.base_url, http=http)})


def sandbox_host(settings: Settings) -> SandboxHost:
    """Return the sandbox host of `SANDBOX_DRIVER`: local, hosted or none."""
    sandbox = settings.sandbox
    match sandbox.driver:
        case "local":
            from app.drivers.sandbox.local.host import LocalSandboxes

            limits = replace(settings.limits.sandbox, memory_bytes=sandbox.memory_mb * MIB)
            return LocalSandboxes(settings.server.instance_dir / "sandboxes", egress=sandbox.egress, limits=limits)
        case "hosted":
            from app.drivers.sandbox.hosted.host import HostedSandboxes

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
