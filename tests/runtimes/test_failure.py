"""Tests of hints for known causes."""

import pytest

from app.runtimes.failure import hint_for, hint_for_code, last_line
from app.runtimes.recipe import REPEATED_NOTE


@pytest.mark.parametrize(
    ("cause", "log", "hosts", "expected"),
    [
        ("missing_program", "$ bundle install\nbundle: No such file or directory\n", (), "Install Ruby and Bundler"),
        ("ended", "sh: 1: postcss: not found\n", (), "“postcss” does not exist"),
        ("ended", "npm error sh: 1: node_modules/.bin/rollup: not found\n", (), "“rollup” does not exist"),
        ("ended", 'Error: failed to load modules: binary with name "go" not found\n', (), "Install Go"),
        ("ended", "ModuleNotFoundError: No module named 'sphinx_rtd_theme'\n", (), "“sphinx_rtd_theme”"),
        ("ended", "Error: Cannot find module 'gray-matter'\n", (), "“gray-matter”"),
        ("ended", 'The "redirects" plugin is not installed\n', (), "“redirects”"),
        ("ended", "at <.Site.Author.email>: can't evaluate field Author in type page.Site\n", (), "use “Author”"),
        (
            "ended",
            "fatal: not a git repository\nLiquid syntax error (/work/a.html line 5): Unknown tag 'seo' included\n",
            (),
            "“seo”",
        ),
        (
            "ended",
            'ERROR access denied: "tailwindcss" is not whitelisted in policy "security.exec.allow"; the current\n',
            (),
            "“tailwindcss”. Add it to security.exec.allow",
        ),
        ("ended", "failed to load Git data: fatal: not a git repository (or any parent)\n", (), "Git history"),
        ("ended", 'Error: module "ananke" not found in "/work/themes"\n', (), "“ananke”, and previews do not fetch"),
        ("ended", "", ("codeload.github.com",), "SANDBOX_EGRESS"),
        ("ended", "getaddrinfo ENOTFOUND api.example.org\n", (), "api.example.org"),
        ("memory", "", (), "memory"),
        ("ended", "FATAL ERROR: JavaScript heap out of memory\n", (), "memory"),
        ("disk", "", (), "disk"),
        ("ended", "OSError: [Errno 28] No space left on device\n", (), "disk"),
        ("port", "", (), "PORT"),
        ("response", "", (), "first page"),
        ("install_timeout", "", (), "ten minutes"),
        ("ended", "Error: No compatible signature found in package metadata\n", (), "npm exec"),
        (
            "ended",
            'npm error code EBADENGINE\nnpm error engine Unsupported engine\nnpm error notsup Required: {"node":">=99"}\n'
            'npm error notsup Actual:   {"node":"v20.20.2","npm":"11.19.1"}\n',
            (),
            "needs Node.js >=99, and the machine that runs previews has v20.20.2.",
        ),
        (
            "ended",
            " ERR_PNPM_UNSUPPORTED_ENGINE  Unsupported environment\n\nExpected version: >=24\nGot: v20.20.2\n",
            (),
            "needs Node.js >=24, and the machine that runs previews has v20.20.2.",
        ),
        (
            "ended",
            'error x@1.0.0: The engine "node" is incompatible with this module. Expected version ">=24". Got "20.20.2"\n',
            (),
            "needs Node.js >=24, and the machine that runs previews has 20.20.2.",
        ),
        (
            "ended",
            'Node.js v20.20.2 is not supported by Astro!\nPlease upgrade Node.js to a supported version: ">=22.12.0"\n',
            (),
            "needs Node.js >=22.12.0, and the machine that runs previews has v20.20.2.",
        ),
        (
            "ended",
            'You are using Node.js 18.1.0. For Next.js, Node.js version ">=20.9.0" is required.\n',
            (),
            "needs Node.js >=20.9.0, and the machine that runs previews has 18.1.0.",
        ),
        (
            "ended",
            "[ERROR] Minimum Node.js version not met :(\n[INFO] You are using Node.js v18.1.0, Requirement: Node.js >=20.0.\n",
            (),
            "needs Node.js >=20.0, and the machine that runs previews has v18.1.0.",
        ),
        ("ended", "The `npm ci` command can only install with an existing package-lock.json or\n", (), "lock file"),
        ("ended", " ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with frozen-lockfile\n", (), "lock file"),
        ("ended", "npm error 404  The requested resource 'left@9' could not be found\n", (), "“left@9”"),
        (
            "ended",
            "npm error 404  The requested resource '@left/pad@https://registry.example.org/pad.tgz' could not be found\n",
            (),
            "“@left/pad”",
        ),
        ("ended", "npm error notarget No matching version found for @left/pad@^1.2.2.\n", (), "“@left/pad@^1.2.2”"),
        ("ended", "ERROR: No matching distribution found for mkdocs-x==9\n", (), "“mkdocs-x==9”"),
        (
            "ended",
            "Additionally, some packages in these conflicts have no matching distributions available for your environment:\n"
            "    sphinx\nERROR: ResolutionImpossible: for help visit\n",
            (),
            "no version for the Python",
        ),
        (
            "ended",
            "ERROR: Ignored the following versions that require a different python version: 9.1.0 Requires-Python >=3.12\n"
            "ERROR: No matching distribution found for sphinx==9.1.0\n",
            (),
            "no version for the Python",
        ),
        (
            "ended",
            'ERROR html/template:_partials/footer.html:16:12: no such template "_internal/google_analytics_async.html"\n',
            (),
            "“_internal/google_analytics_async.html”",
        ),
        ("ended", 'npm error Unsupported URL Type "workspace:": workspace:*\n', (), "preview.root"),
        ("ended", "npm error code E401\n", (), "credentials"),
        ("ended", "npm error code ERESOLVE\n", (), "conflict"),
        ("ended", "Error: listen EADDRINUSE: address already in use :::3000\n", (), "PORT"),
    ],
)
def test_hint_for_known_cause_names_the_action(cause: str, log: str, hosts: tuple[str, ...], expected: str) -> None:
    assert expected in (hint_for(cause, log, hosts, is_serving=False) or "")


def test_hint_for_refused_host_while_serving_names_the_setting() -> None:
    hint = hint_for("ended", "", ("api.example.org",), is_serving=True) or ""
    assert "api.example.org" in hint
    assert "preview_network" in hint


def test_hint_for_incomplete_package_names_the_host_that_its_installation_needs() -> None:
    log = (
        "galley: refused the connection to github.com:443: the host is not in SANDBOX_EGRESS\n"
        "Error: Cannot find module '../build/Release/sharp.node'\n"
    )
    hint = hint_for("ended", log, ("github.com", "api.example.org"), is_serving=True)
    assert hint == "The installation requested github.com. An operator can permit the host with SANDBOX_EGRESS."
    assert "sharp.node" in (hint_for("ended", log.partition("\n")[2], ("github.com",), is_serving=True) or "")


@pytest.mark.parametrize(
    ("host", "expected"), [("proxy.golang.org", "SANDBOX_MODULE_PROXY"), ("rubygems.org", "must check its network.")]
)
def test_hint_for_unreachable_host_names_the_action_of_the_operator(host: str, expected: str) -> None:
    hint = hint_for("ended", "", (), is_serving=False, unreachable_hosts=(host,)) or ""
    assert f"cannot connect to {host}" in hint
    assert expected in hint


@pytest.mark.parametrize(
    "text",
    [
        "You are using Node.js 1. ",
        "ERR_PNPM_FETCH_404 registry ",
        'exec "go" ',
        "code EBADENGINE\n",
        "No module named ",
    ],
)
def test_hint_for_repeated_text_is_bounded(text: str) -> None:
    hint = hint_for("ended", (text * 10_000) + "x" * 5000, (), is_serving=False)
    assert len(hint or "") < 500


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("jekyll 4.3 | Error:  Tried to load\n\tfrom a.rb:1:in `x'\n" * 2, "jekyll 4.3 | Error:  Tried to load"),
        ("npm error bad\nnpm error A complete log of this run can be found in: /tmp/x\n", "npm error bad"),
        ("Traceback:\nValueError: wrong value\n", "ValueError: wrong value"),
        ("ERROR error building site: first\nERROR error building site: second\n", "ERROR error building site: second"),
        ("Exited with error code 1\n" + "Error: " + "x" * 500, "Error: " + "x" * 193),
    ],
)
def test_hint_for_unknown_cause_is_the_last_line_with_an_error(log: str, line: str) -> None:
    assert hint_for("ended", log, (), is_serving=True) == f"The log reports: {line}"


@pytest.mark.parametrize(
    ("log", "hint"),
    [
        ("$ npm start\nSegmentation fault\n\n", "The log reports: Segmentation fault"),
        (
            "It stopped\nnpm ERR! A complete log of this run can be found in:\nnpm ERR!     /tmp/x-debug.log\n",
            "It stopped",
        ),
        ("$ npm start\n", "wrote nothing to its log"),
        ("", "wrote nothing to its log"),
    ],
)
def test_hint_for_unknown_cause_without_an_error_is_the_last_line(log: str, hint: str) -> None:
    assert hint in hint_for("ended", log, (), is_serving=True)


def test_hint_for_memory_names_the_setting() -> None:
    assert "SANDBOX_MEMORY_MB" in hint_for("memory", "", (), is_serving=True)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("npm error code ERESOLVE\n", "dependencies conflict"),
        (
            "galley: refused the connection to other.example.org:443: the host is not in SANDBOX_EGRESS\n",
            "The installation requested other.example.org:443. An",
        ),
        ("galley: cannot connect to slow.example.org:443 from this machine\n", "cannot connect to slow.example.org"),
    ],
)
def test_hint_for_a_repeated_installation_ignores_the_first_attempt(second: str, expected: str) -> None:
    first = (
        "galley: refused the connection to first.example.org:443: the host is not in SANDBOX_EGRESS\n"
        "galley: cannot connect to first.example.net:443 from this machine\nnpm error code E404\n"
    )
    refused = ["first.example.org:443", "other.example.org:443"]
    unreachable = ["first.example.net:443", "slow.example.org:443"]
    log = f"{first}{REPEATED_NOTE}\n{second}"
    hint = hint_for("ended", log, refused, is_serving=False, unreachable_hosts=unreachable)
    assert expected in hint
    assert "first.example" not in hint


@pytest.mark.parametrize(("log", "line"), [("a\n \x1b[1mb\x1b[0m \n\n", "b"), ("", ""), ("x" * 500, "x" * 200)])
def test_last_line_is_plain_and_short(log: str, line: str) -> None:
    assert last_line(log) == line


def test_hint_for_code_unavailable_runtime_names_the_programs() -> None:
    assert hint_for_code("RUNTIME_UNAVAILABLE", "The server cannot run bundle: install Ruby and Bundler") == (
        "Install Ruby and Bundler on the machine that runs previews."
    )
