"""Selection of the Git hosts from the settings. An implementation is imported when it is selected."""

from app.drivers.git.hosts import GitHosts, InstallationHost, OAuthHost
from app.drivers.git.local.provider import LocalGit
from app.drivers.git.port import Person, RepoRef
from app.drivers.git.rest.client import SharedState
from app.drivers.git.rest.provider import BranchLock, file_locks_in
from app.drivers.git.rest.rate_budget import RateBudgets
from app.drivers.git.rest.tokens import ReplicationRetry, TokenSupplier
from app.drivers.http.client import HttpClient
from config import Settings


def git_hosts(settings: Settings) -> GitHosts:
    """Return the configured Git hosts: local bare repositories, GitHub and GitLab."""
    git = settings.git
    bot = Person(git.bot_name, git.bot_email)
    limits = settings.limits.outbound
    shared = SharedState(
        http=HttpClient(limits=limits),
        budgets=rate_budgets(settings),
        replication=ReplicationRetry(limits.token_replication_s),
    )
    hold = file_locks_in(settings.server.instance_dir / "turns")
    local = LocalGit(git.local_root, bot=bot, clone_hosts=git.clone_hosts) if git.local_enabled else None
    return GitHosts(
        local,
        {
            "github": github_host(settings, bot, shared, hold),
            "gitlab": gitlab_host(settings, bot, shared, hold),
        },
    )


def rate_budgets(settings: Settings) -> RateBudgets:
    """Return the rate budgets of the Git hosts, which Redis shares between nodes if it is configured."""
    if settings.redis_url is None:
        return RateBudgets()
    from app.drivers.git.rest.rate_board import RedisBudgets

    return RateBudgets(RedisBudgets(settings.redis_url))


def github_host(settings: Settings, bot: Person, shared: SharedState, hold: BranchLock) -> InstallationHost:
    """Return GitHub. Its app requires all `GITHUB_APP_*` variables."""
    from app.drivers.git.github.accounts import GitHubAccounts
    from app.drivers.git.github.provider import CAPABILITIES, GitHubRepository

    about = settings.github
    app = None
    if about.app_id and about.app_slug and about.client_id and about.client_secret and about.private_key:
        from app.drivers.git.github.app import GitHubApp

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

    def open_repository(repo: RepoRef, token: TokenSupplier, deadline_s: float) -> GitHubRepository:
        return GitHubRepository(about.api_url, repo, token, bot=bot, shared=shared, lock=hold, deadline_s=deadline_s)

    return InstallationHost(open_repository, CAPABILITIES, GitHubAccounts(about.api_url, shared=shared), app)


def gitlab_host(settings: Settings, bot: Person, shared: SharedState, hold: BranchLock) -> OAuthHost:
    """Return GitLab. Its OAuth application requires `GITLAB_CLIENT_ID` and `GITLAB_CLIENT_SECRET`."""
    from app.drivers.git.gitlab.accounts import GitLabAccounts
    from app.drivers.git.gitlab.provider import CAPABILITIES, GitLabRepository

    about = settings.gitlab
    app = None
    if about.client_id and about.client_secret:
        from app.drivers.git.gitlab.accounts import GitLabOAuth

        app = GitLabOAuth(url=about.url, client_id=about.client_id, client_secret=about.client_secret, shared=shared)

    def open_repository(repo: RepoRef, token: TokenSupplier, deadline_s: float) -> GitLabRepository:
        return GitLabRepository(about.url, repo, token, bot=bot, shared=shared, lock=hold, deadline_s=deadline_s)

    return OAuthHost(open_repository, CAPABILITIES, GitLabAccounts(about.url, shared=shared), app)
