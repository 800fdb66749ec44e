"""Limits, lifetimes and timeouts. Each number has one definition, and `settings.limits` contains all of them.

The operator can set only the four creation limits (`LIMIT_*`).
Sources: ASVS 5.0, OWASP API Top 10 2023, GitHub's and GitLab's published limits, Stripe's practice for webhooks and
idempotency, measurements on a two-core machine.
"""

from dataclasses import dataclass, field

from app.core.rates import DAY, HOUR, MINUTE, Rate, RateLimits

KIB, MIB = 1024, 1024 * 1024


@dataclass(frozen=True)
class InputLimits:
    """Limits of a request."""

    json_bytes: int = MIB
    auth_bytes: int = 16 * KIB
    log_bytes: int = 64 * KIB
    commit_bytes: int = 25 * MIB
    ai_bytes: int = 512 * KIB
    ai_command_bytes: int = MIB
    webhook_bytes: int = 256 * KIB
    depth: int = 32
    object_keys: int = 256
    list_items: int = 10_000
    integer_max: int = 2**63 - 1
    url_bytes: int = 8 * KIB
    header_bytes: int = 16 * KIB
    page_size: int = 50
    page_size_max: int = 100
    multipart_files: int = 1
    multipart_fields: int = 10
    multipart_bytes: int = 10 * MIB
    form_fields: int = 1_000
    form_bytes: int = 6 * MIB
    form_unauthenticated_bytes: int = 64 * KIB
    part_heads_bytes: int = 128 * KIB
    unauthenticated_bytes: int = MIB
    bodies_bytes: int = 256 * MIB
    bodies_address_bytes: int = 64 * MIB
    header_timeout_s: int = 10
    body_timeout_s: int = 30
    path_bytes: int = 1024
    path_segment_bytes: int = 255
    idempotency_key_characters: int = 255
    idempotency_ttl_s: int = DAY


class TextLengths:
    """The largest numbers of characters of names. Columns, fields, commands and inputs of the console read them.

    A larger number needs a migration of the column.
    """

    USER_NAME = 120
    ORGANIZATION_NAME = 80
    PROJECT_NAME = 100
    TOKEN_NAME = 80
    PASSKEY_NAME = 100


@dataclass(frozen=True)
class PasswordLimits:
    """Length of passwords and cost of their hash (argon2id)."""

    min_characters: int = 8
    max_characters: int = 128
    max_bytes: int = 512
    memory_kib: int = 19_456
    iterations: int = 2
    parallelism: int = 1


@dataclass(frozen=True)
class CodeLimits:
    """One-time codes, reset tokens, invitations and OAuth states."""

    otp_ttl_s: int = 10 * MINUTE
    otp_attempts: int = 5
    otp_resend_s: int = 60
    otp_sends: tuple[Rate, ...] = (Rate(5, HOUR), Rate(10, DAY))
    reset_ttl_s: int = 30 * MINUTE
    factor_attempts: tuple[Rate, ...] = (Rate(5, 15 * MINUTE, is_fixed=True), Rate(30, DAY, is_fixed=True))
    factor_resets: tuple[Rate, ...] = (Rate(3, HOUR),)
    challenge_ttl_s: int = 10 * MINUTE
    trusted_device_s: int = 30 * DAY
    trusted_devices: int = 20
    backup_codes: int = 10
    invitation_ttl_s: int = 7 * DAY
    state_ttl_s: int = 10 * MINUTE


@dataclass(frozen=True)
class SessionLimits:
    """Lifetimes and numbers of sessions."""

    absolute_s: int = 30 * DAY
    idle_s: int = 7 * DAY
    short_s: int = DAY
    touch_s: int = 5 * MINUTE
    per_user: int = 20
    fresh_s: int = 15 * MINUTE
    """The age of a session that may delete the account (contract 4.3)."""

    recent_s: int = 10 * MINUTE
    """The time after a proof of the identity in which a session may make changes that need one."""


@dataclass(frozen=True)
class TokenLimits:
    """Lifetimes and numbers of API tokens."""

    default_s: int = 90 * DAY
    absolute_s: int = 366 * DAY
    per_user: int = 50
    per_organization: int = 50
    projects: int = 100
    retention_s: int = 90 * DAY


@dataclass(frozen=True)
class UploadLimits:
    """Limits of uploaded images."""

    side_px: int = 8192
    area_px: int = 40_000_000
    frames: int = 100
    animation_px: int = 80_000_000
    stored_bytes: int = 500 * MIB
    orphan_ttl_s: int = DAY


@dataclass(frozen=True)
class SandboxLimits:
    """Resources and lifetimes of sandboxes."""

    cpus: int = 1
    memory_bytes: int = 2048 * MIB
    processes: int = 256
    disk_bytes: int = 2048 * MIB
    files: int = 400_000
    log_bytes: int = MIB
    lifetime_s: int = 600
    heartbeat_s: int = 300
    total_s: int = 3600
    cleanup_interval_s: int = 5
    per_user: int = 2
    per_organization: int = 4
    requests: int = 64
    requests_total: int = 400
    membership_check_s: float = 10


@dataclass(frozen=True)
class BuildLimits:
    """Sizes, numbers and lifetimes of site builds."""

    files: int = 50_000
    output_bytes: int = 1024 * MIB
    per_organization: int = 2
    attempts: int = 3
    lifetime_s: int = 1800
    """The time for the installation, the build and the storage of its output."""
    retention_s: int = 30 * DAY
    record_retention_s: int = 60 * DAY
    """The time for which a failed or expired build is listed."""


@dataclass(frozen=True)
class AiLimits:
    """Output tokens that the server enforces, and timeouts of AI providers."""

    copilot_tokens: int = 50
    commit_tokens: int = 256
    metadata_tokens: int = 512
    explain_tokens: int = 2048
    command_tokens: int = 4096
    chat_tokens: int = 4096
    seo_fix_tokens: int = 4096
    code_edit_tokens: int = 8192
    connect_timeout_s: float = 5
    first_byte_timeout_s: float = 30
    idle_timeout_s: float = 20
    total_timeout_s: float = 120
    copilot_timeout_s: float = 8
    comment_interval_s: float = 10
    streams: int = 4
    prompt_characters: int = 8000
    operator_tokens_a_day: int = 500_000
    tool_rounds: int = 6
    context_characters: int = 200_000
    pool_connections: int = 1000


@dataclass(frozen=True)
class OutboundLimits:
    """Calls to other services: timeouts, sizes, retries."""

    connect_timeout_s: float = 5
    read_timeout_s: float = 15
    deadline_s: float = 30
    body_bytes: int = 10 * MIB
    tree_bytes: int = 50 * MIB
    file_bytes: int = 25 * MIB  # The content of one save must stay readable.
    attempts: int = 4
    backoff_base_s: float = 0.25
    backoff_max_s: float = 8
    retry_after_max_s: float = 60
    token_replication_s: float = 5
    concurrency: int = 6
    concurrency_max: int = 16


@dataclass(frozen=True)
class StoreLimits:
    """Timeouts of the database, and the sizes of the caches of a node."""

    statement_timeout_s: int = 5
    lock_timeout_s: int = 2
    idle_in_transaction_timeout_s: int = 10
    pool_timeout_s: int = 2
    cache_bytes: int = 256 * MIB
    thumbnail_bytes: int = 128 * MIB


@dataclass(frozen=True)
class CommitLimits:
    """Limits of one commit, and of a form of the console that changes many files in several commits."""

    files: int = 300
    bytes: int = 25 * MIB
    form_files: int = 3_000
    form_timeout_s: float = 20


@dataclass(frozen=True)
class PushLimits:
    """Limits of a push of a Git client, and of the Git processes that a client starts.

    `entries` are the files and folders that the received commits add or change, counted each time that they are read.
    `process_bytes` is the memory of each process, `hook_bytes` that of the hook and of each of its processes.
    """

    updates: int = 1_000
    entries: int = 400_000
    blob_bytes: int = 100 * MIB
    folder_bytes: int = 8 * MIB
    message_bytes: int = 64 * KIB
    received_bytes: int = 2048 * MIB
    process_bytes: int = 224 * MIB
    hook_bytes: int = 112 * MIB
    cpu_s: int = 120


@dataclass(frozen=True)
class DraftLimits:
    """Limits of the images of drafts. A commit can contain the images of one draft and the largest text."""

    images: int = 50
    image_bytes: int = 20 * MIB
    user_image_bytes: int = 100 * MIB
    orphan_ttl_s: int = DAY
    unnamed_ttl_s: int = 10 * MINUTE
    removed_ttl_s: int = MINUTE


@dataclass(frozen=True)
class WebhookLimits:
    """Limits of outbound webhooks."""

    endpoints: int = 20
    body_bytes: int = 20_000
    files: int = 200
    response_characters: int = 2 * KIB
    deploy_interval_s: int = MINUTE
    rotation_s: int = DAY
    failing_s: int = 5 * DAY
    body_retention_s: int = 30 * DAY
    retention_s: int = 90 * DAY
    recovered: int = 10_000


@dataclass(frozen=True)
class Limits:
    """The creation limits, which the operator can set, and the fixed limits."""

    organizations: int = 10
    projects: int = 100
    projects_per_organization: int = 25
    members: int = 50
    input: InputLimits = InputLimits()
    password: PasswordLimits = PasswordLimits()
    codes: CodeLimits = CodeLimits()
    sessions: SessionLimits = SessionLimits()
    tokens: TokenLimits = TokenLimits()
    rates: RateLimits = field(default_factory=RateLimits)
    upload: UploadLimits = UploadLimits()
    sandbox: SandboxLimits = SandboxLimits()
    builds: BuildLimits = BuildLimits()
    ai: AiLimits = AiLimits()
    outbound: OutboundLimits = OutboundLimits()
    stores: StoreLimits = StoreLimits()
    commit: CommitLimits = CommitLimits()
    push: PushLimits = PushLimits()
    draft: DraftLimits = DraftLimits()
    webhooks: WebhookLimits = WebhookLimits()
