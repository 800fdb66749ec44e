"""Report code of `app` that no other code uses: vulture with the exceptions below.

Run `python .ci/unused.py` in the project's root. Exits with 1 if there is a finding or an exception that matches nothing.
"""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

from vulture import Vulture

PATHS = ["app", "config.py", "wsgi.py", "gunicorn.conf.py", "deploy", "migrations"]
DECORATORS = ["@*.command*", "@*.get", "@*.post", "@*.patch", "@*.put", "@*.delete", "@*.route", "@endpoint*", "@job*"]
DECORATORS += ["@*.subscribe", "@validates*", "@post_load", "@pre_load", "@post_dump", "@*.errorhandler", "@*handler*"]
DECORATORS += ["@*.before_request", "@*.after_request", "@*.teardown*", "@event.listens_for*", "@*.user_loader"]

# (file, names as a regular expression, reason)
EXCEPTIONS = [
    ("app/*/schemas*", r"\w+", "Marshmallow reads the fields of a schema by name"),
    ("app/models/*", r"\w+", "SQLAlchemy reads the columns of a table by name"),
    ("app/settings/*", r"[A-Z][A-Z0-9_]+|Meta", "fields of a schema: one per environment variable"),
    ("migrations/*", r"down_revision|CONTRACTS|upgrade|downgrade", "read by Alembic and by the test of the migrations"),
    ("gunicorn.conf.py", r"[a-z_]+", "settings and hooks that gunicorn reads by name"),
    ("wsgi.py", r"app|application", "names that WSGI servers read"),
    ("deploy/site_pages.py", r"on_\w+", "hooks of MkDocs"),
    ("app/core/rates.py", r"\w+", "rows that `endpoint(rate=...)` names"),
    ("app/core/locales.py", r"[A-Z]+", "members of an enumeration that is used as a whole"),
    ("app/drivers/billing/port.py", r"[A-Z_]+", "states of the payment provider, read by value"),
    ("app/resources/bucket/storage_keys.py", r"[A-Z]+", "members of an enumeration that is used as a whole"),
    ("app/resources/order/*.py", r"active_package|orders|arr|net_revenue|arpu", "fields of a response"),
    ("app/console/**/*.py", r"console_\w+", "attributes of flask.g, read with g.get"),
    (
        "app/console/**/*.py",
        r"panel|option_text|has_previews|index_state|was_sent|can_have_both|has_drafts|list_label|known_zones|organization_url|other_projects|folder_choices|may|project_url|suggests_rebuild|is_checked|checked|errors|is_missing",
        "used by templates, or a field of a query schema",
    ),
    (
        "app/console/editor/*field*.py",
        r"is_required|marks_optional|is_unfit|kind_name|is_wide|other_names|items_name|image_names|stored_titles|notation_name|has_help|draft_input|draft_values|has_images|shown_choices",
        "used by templates",
    ),
    (
        "app/console/editor/editor_page.py",
        r"reloads|is_source_only|can_delete|can_duplicate|has_ai|also|is_markdown|is_mdx|has_image|image_url|media_folders",
        "used by templates",
    ),
    ("app/resources/auth/passkeys/service.py", r"backed_up", "a column that a response contains"),
    ("app/console/shell/forms.py", r"has_password|has_passkey", "used by templates"),
    ("app/resources/auth/two_factor/actions.py", r"has_password", "used by templates"),
    ("app/console/project/rebuild.py", r"menu|button", "used by templates"),
    ("app/console/project/built_site.py", r"is_followed|is_shown", "used by templates"),
    ("app/content/page_blocks.py", r"before_ranges|after_ranges", "used by templates"),
    ("app/content/schema/columns.py", r"has_drafts", "used by templates"),
    ("app/console/files/destinations.py", r"approved|is_suggested", "used by templates"),
    (
        "app/console/project/change_sets.py",
        r"is_opened|timeline|comments_on|may_share|active_links|has_news",
        "used by templates",
    ),
    ("app/console/guest/guest_page.py", r"is_building|may_comment|may_review|frame_url", "used by templates"),
    (
        "app/resources/project_content/tree/folder_listing.py",
        r"is_draft|changed_by|changed_at|has_hidden",
        "used by templates",
    ),
    ("app/resources/project_content/schema/latest_pages.py", r"list_label", "used by templates"),
    ("app/content/entry_files.py", r"has_only_images", "used by templates"),
    ("app/resources/api_token/service.py", r"token_hint", "column that a schema reads by name"),
    ("app/resources/user/service.py", r"has_password", "field of a response"),
    ("app/http/headers.py", r"trace_parent", "attribute of flask.g, read with g.get"),
    ("app/http/actions.py", r"may_have_effect", "attribute of flask.g, read with g.get"),
    (
        "app/access/authentication.py",
        r"open_session|session_protection|session_interface",
        "attributes that Flask reads",
    ),
    ("app/content/unified_diff.py", r"has_newline|old_start|old_lines|new_start|new_lines", "fields of a response"),
    ("app/content/marks/markdown_parser.py", r"validateLink|normalizeLink", "interface of markdown-it"),
    ("app/content/describe.py", r"start_line|end_line|silent|validateLink", "interface of markdown-it"),
    ("app/content/schema/text_patterns.py", r"max_mem|never_capture|log_errors", "options of RE2"),
    ("app/database/sqlite.py", r"isolation_level", "attribute of the sqlite3 connection"),
    ("app/drivers/billing/paddle/transport.py", r"raise_for_status", "interface that the Paddle SDK calls"),
    (
        "app/drivers/http/*.py",
        r"trust_env|ConnectionCls|pool_classes_by_scheme|response_class",
        "attributes that requests, urllib3 and http.client read",
    ),
    (
        "app/drivers/jobs/postgresql/*.py",
        r"get_retry_decision|retry_job|get_sync_connector|execute_query(_one)?",
        "interface of Procrastinate",
    ),
    ("app/drivers/social_login/oidc.py", r"jwks_uri", "key of a TypedDict"),
    ("app/backup/manifest.py", r"made_at", "field of a stored file"),
    ("app/http/body_admission.py", r"reserved_bytes", "read by the tests of the budget"),
    ("app/http/connection_body.py", r"limit_chunk_size_line", "attribute that gunicorn reads"),
    ("app/http/gunicorn_worker.py", r"\w+", "interface of gunicorn, which loads the class by name"),
    ("app/observability/gunicorn_logger.py", r"\w+", "interface of gunicorn, which loads the class by name"),
    ("app/factory.py", r"ensure_sync|merge_slashes|strict_slashes|dumps|loads", "interface of Flask"),
    ("app/http/api_document/responses.py", r"\w+", "fields of a schema"),
    ("app/http/validation.py", r"Meta|_serialize", "interface of Marshmallow"),
    ("app/preview_proxy/http_exchange.py", r"readable|readinto", "interface of io.RawIOBase"),
    ("app/drivers/sandbox/hosted/host.py", r"readinto", "interface of io.RawIOBase"),
    ("app/resources/system/metrics.py", r"collect", "interface of prometheus-client"),
    ("app/resources/*.py", r"account_(id|name)|last_refreshed_at|installation_token_\w+|invited_by|sent_at", "columns"),
    ("app/core/clock.py", r"shifted", "moves the clock in tests"),
    ("app/drivers/git/port.py", r"private", "field of a value that becomes a response"),
]


def main() -> int:
    """Print every finding that has no exception, and every exception that matches nothing."""
    scanner = Vulture(ignore_decorators=DECORATORS)
    scanner.scavenge(PATHS)
    needed, count = set(), 0
    for item in scanner.get_unused_code(min_confidence=60):
        file = Path(item.filename).absolute().relative_to(Path.cwd()).as_posix()
        matches = [rule for rule in EXCEPTIONS if fnmatch(file, rule[0]) and re.fullmatch(rule[1], item.name)]
        needed.update(matches)
        if not matches:
            count += 1
            print(f"{file}:{item.first_lineno}: unused {item.typ} {item.name}")
    for rule in EXCEPTIONS:
        if rule not in needed:
            count += 1
            print(f".ci/unused.py: the exception {rule[:2]} matches nothing")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
