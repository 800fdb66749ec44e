"""Logs of previews as plain text, and hints for the known causes of failures."""

import re
from collections.abc import Sequence

from app.runtimes.recipe import REPEATED_NOTE

TAIL_BYTES = 4 * 1024
NETWORK_ADVICE = "An owner or admin can permit it in the settings of the project (preview_network)."
"""The end of a hint that names a setting. The console shows the label of the setting instead."""

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # operating system commands: titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # device control and other strings
    r"|\x1b[ -/]*[0-~]"  # other escape sequences
    r"|[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]"
)
SEARCHED_CHARACTERS = 128 * 1024
MAX_NAME_CHARACTERS = 200
"""Longest part of a log in a hint. The patterns below bound their repetitions: the site chooses the text."""
_PROGRAMS = {
    ("ruby", "bundle", "bundler", "jekyll", "gem"): "Install Ruby and Bundler on the machine that runs previews.",
    ("node", "npm", "npx", "corepack"): "Install Node.js and npm on the machine that runs previews.",
    ("go",): "Install Go on the machine that runs previews: Hugo modules need it.",
    ("git",): "Install Git on the machine that runs previews.",
    ("hugo",): "Install Hugo on the machine that runs previews.",
}
_MISSING_PROGRAM = re.compile(
    r"^(?:npm (?:error|ERR!) )?(?:[\w/.-]*sh: (?:line )?\d+: )?([\w./-]+): "
    r"(?:No such file or directory|not found|command not found)$"
    r"|(?:exec|binary with name) \\?\"(go|npx|node|postcss|sass)\\?\"[^\n]{0,200}not found|spawn ([\w./-]+) ENOENT",
    re.MULTILINE,
)
_MISSING_MODULE = re.compile(
    r"No module named '?([\w.]+)|Cannot find (?:module|package) '([^'\n]+)'|cannot load such file -- (\S+)"
    r"|Could not find gem '([^'\n]+)'|The \"([\w/-]+)\" plugin is not installed|Unrecognised theme name: '([\w-]+)'"
    r"|no theme named '([\w-]+)' found",
)
_HUGO_THEME = re.compile(r"module \"([\w./-]{1,200})\" not found")
_LOOKUP = re.compile(
    r"(?:lookup|getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|Could not resolve host:|resolve host) ([\w.-]+\.[a-z]{2,})"
    r"|Failed to connect to ([\w.-]+\.[a-z]{2,}) port",
)
_REFUSED_INSTALLATION = re.compile(
    r"^galley: refused the connection to ([\w.-]{1,253})(?::\d{1,5})?: the host is not in", re.MULTILINE
)
_UNREACHABLE_HOST = re.compile(
    r"^galley: cannot connect to ([\w.-]{1,253})(?::\d{1,5})? from this machine", re.MULTILINE
)
_MEMORY = re.compile(
    r"JavaScript heap out of memory|^MemoryError|Cannot allocate memory|out of memory", re.MULTILINE | re.I
)
_SIGNATURE = re.compile(
    r"No compatible signature found in package metadata|Cannot find matching keyid|Signature does not match"
)
_NODE_VERSION = (
    re.compile(
        r"Node\.js (?P<has>v?\d[\w.]{0,20}) is not supported by [^\n]{0,200}\n"
        r"[^\n]{0,200}version: \"?(?P<needs>[^\"\n]{1,80})"
    ),
    re.compile(
        r"You are using Node\.js (?P<has>v?\d[\w.]{0,20})[.,]\s[^\n]{0,200}"
        r"(?:version|Requirement:|requires) \"?(?:Node\.js )?(?P<needs>[^\"\n]{1,80})"
    ),
    re.compile(r"Expected version:? \"?(?P<needs>[^\"\n]{1,80})\"?(?:\.|\n)\s*Got:? \"?(?P<has>v?\d[\w.]{0,20})"),
    re.compile(
        r"code EBADENGINE\n(?>(?:[^\n]{0,200}\n){0,6}?[^\n]{0,200}?Required: )"
        r"(?>[^\n]{0,200}?\"node\": ?\")(?P<needs>[^\"\n]{1,80})\"[^\n]{0,200}\n"
        r"(?>[^\n]{0,200}?Actual: )(?>[^\n]{0,200}?\"node\": ?\")(?P<has>[^\"\n]{1,80})\""
    ),
)
_HUGO_TEMPLATE = re.compile(r"no such template \"(_internal/[\w./-]{1,200})\"")
_HUGO_FIELD = re.compile(r"can't evaluate field (\w{1,100}) in type (?:page|site|hugolib|langs|hugo)\.")
_HUGO_PROGRAM = re.compile(
    r"access denied: \"([\w./-]{1,200})\" is not whitelisted in policy \"security\.exec\.allow\""
)
_LIQUID_TAG = re.compile(r"Liquid syntax error[^\n]{0,300}: Unknown tag '(\w{1,100})'")
_GIT_HISTORY = re.compile(
    r"not a git repository|nil pointer evaluating \*?gitmap\.|InvalidGitRepositoryError|has no git logs", re.IGNORECASE
)
_PYTHON_VERSION = re.compile(
    r"no matching distributions available for your environment|versions that require a different python version"
)
_LOCK_FILE = re.compile(
    r"can only install (?:with an existing package-lock\.json|packages when your package\.json)|ERR_PNPM_NO_LOCKFILE"
    r"|ERR_PNPM_OUTDATED_LOCKFILE|ERR_PNPM_LOCKFILE_(?:CONFIG_MISMATCH|BREAKING_CHANGE)"
    r"|Your lockfile needs to be updated|lockfile would have been (?:modified|created) by this install"
    r"|no lock ?file was found",
    re.IGNORECASE,
)
_UNKNOWN_PACKAGE = re.compile(
    r"404 +(?:The requested resource )?'([^'\n]+)' (?:could not be found|is not in (?:this|the npm) registry)"
    r"|ERR_PNPM_FETCH_404\b(?>[^\n]{0,200}?registry)[^/\n]{0,200}/([^:\s]{1,200}):"
    r"|No matching (?:distribution|version) found for ([^\s]+?)(?:\.?\s|$)"
    r"|Couldn't find (?:any versions for |package )\"([^\"\n]+)\""
)
_PRIVATE_REGISTRY = re.compile(r"code E40[13]$|ERR_PNPM_FETCH_40[13]\b|HTTP error 40[13] while getting", re.MULTILINE)
_CONFLICT = re.compile(r"code ERESOLVE$|ResolutionImpossible", re.MULTILINE)
_WORKSPACE = re.compile(r"EUNSUPPORTEDPROTOCOL|Unsupported URL Type \"workspace:")
_OCCUPIED_PORT = re.compile(r"EADDRINUSE|Address already in use|Port \d+ is (?:already )?in use", re.IGNORECASE)
_INSTALLATION_HINTS = (
    (
        _LOCK_FILE,
        "The lock file is missing or does not match package.json. "
        "Run the package manager of the site and commit its lock file.",
    ),
    (
        _WORKSPACE,
        "The site is part of a workspace. Set preview.root in .galley.yml to the root of the workspace and "
        "preview.command to the command that serves the site.",
    ),
    (
        _PRIVATE_REGISTRY,
        "The registry requires credentials, and sandboxes have none. Use packages of a public registry.",
    ),
    (
        _CONFLICT,
        "The versions of the dependencies conflict. Correct them and commit a lock file that can be installed.",
    ),
)
_SITE_HINTS = (
    (
        _HUGO_TEMPLATE,
        "This version of Hugo no longer has the template “{}”. Update the theme or the layouts of the site.",
    ),
    (
        _HUGO_FIELD,
        "The templates use “{}”, which this version of Hugo does not have. "
        "Update the theme or the layouts of the site.",
    ),
    (
        _HUGO_THEME,
        "The repository does not contain the theme or module “{}”, and previews do not fetch Git submodules. "
        "Commit the theme, or import it as a Hugo module.",
    ),
    (
        _HUGO_PROGRAM,
        "The configuration of the site does not permit Hugo to run “{}”. Add it to security.exec.allow.",
    ),
    (
        _LIQUID_TAG,
        "Jekyll does not know the tag “{}”. "
        "Add the plugin that defines it to the Gemfile and to plugins in _config.yml.",
    ),
    (
        _GIT_HISTORY,
        "The site reads its Git history, and sandboxes have none. "
        "Make the site build without it, or turn its plugin off.",
    ),
    (
        _MISSING_MODULE,
        "The module or theme “{}” is not installed. Add it to the dependencies of the site.",
    ),
)
"""Patterns of the log of a site and their hints. A hint contains the name that the pattern found last."""
_CAUSE_HINTS = {
    "response": "The server accepts connections, but its first page takes too long. "
    "Reduce what the build of the page loads.",
    "port": "Start the server on the port in the variable PORT, or set preview.port in .galley.yml.",
    "install_timeout": "The installation must end within ten minutes. "
    "Commit a lock file and remove unused dependencies.",
}
_MODULE_PROXY_HOSTS = frozenset(("proxy.golang.org", "sum.golang.org"))
_ERROR_LINE = re.compile(
    r"^(?![^\S\n]*+(?:from|at) |npm (?:error|ERR!) A complete log)"
    r"[^\n]{0,100}?(?:[Ee]rror|ERROR|Exception|[Ff]atal)\b:? [^\n]{1,200}",
    re.MULTILINE,
)
_LINE = re.compile(
    r"^(?![^\S\n]*+(?:from|at) |\$ |npm (?:error|ERR!) A complete log|npm (?:error|ERR!) +/)[^\n]*\w[^\n]*",
    re.MULTILINE,
)
"""Lines without positions of a traceback, commands, and the file in which npm stores its own log."""
_DISK = re.compile(r"No space left on device|ENOSPC|EDQUOT")


def log_tail(log: str) -> str:
    """Return the last 4 KiB of a log without escape codes and control characters."""
    text = plain(log).encode()[-TAIL_BYTES:]
    return text.decode(errors="ignore")


def last_line(log: str) -> str:
    """Return the last line with text of a log, shortened, or an empty string."""
    lines = (line.strip() for line in reversed(plain(log[-TAIL_BYTES:]).split("\n")))
    return next((line[:MAX_NAME_CHARACTERS] for line in lines if line), "")


def plain(text: str) -> str:
    """Return a text without escape codes and control characters."""
    return _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def hint_for(
    cause: str | None,
    log: str,
    refused_hosts: Sequence[str],
    *,
    is_serving: bool,
    unreachable_hosts: Sequence[str] = (),
) -> str:
    """Return what the caller or the operator can do about a failed preview.

    For an unknown cause, return the last line of the log that names an error, or the last line of the log.
    """
    text = plain(log[-SEARCHED_CHARACTERS:])
    if not is_serving and REPEATED_NOTE in text:
        # What the first attempt reported is not the reason why the second one failed.
        text = text.rpartition(REPEATED_NOTE)[2]
        refused_hosts = [host for host in refused_hosts if _name_of(host) in _REFUSED_INSTALLATION.findall(text)]
        unreachable_hosts = [host for host in unreachable_hosts if _name_of(host) in _UNREACHABLE_HOST.findall(text)]
    if cause == "memory" or _MEMORY.search(text):
        return (
            "The site ran out of memory. Reduce what the build loads at once, "
            "or an operator can raise SANDBOX_MEMORY_MB."
        )
    if cause in ("disk", "files") or _DISK.search(text):
        return "The site ran out of disk space or files. Remove large or generated files from the repository."
    version = _hint_for_tools(text)
    if version is not None:
        return version
    hosts = [*refused_hosts] or _lookups(text)
    if hosts and not is_serving:
        return _hint_for_hosts(hosts, is_serving=False)
    if unreachable_hosts:
        return _hint_for_unreachable(unreachable_hosts)
    if not is_serving and (installation := _hint_for_installation(text)) is not None:
        return installation
    program = _first(_MISSING_PROGRAM, text)
    if program is not None:
        return _hint_for_program(program)
    refused_installation = [host for host in hosts if host in _REFUSED_INSTALLATION.findall(text)]
    for pattern, hint in _SITE_HINTS:
        # A package is incomplete if its script could not download a program.
        if pattern.search(text) and not (pattern is _MISSING_MODULE and refused_installation):
            return hint.format(_first(pattern, text))
    if hosts:
        return _hint_for_hosts(refused_installation or hosts, is_serving=not refused_installation)
    if _OCCUPIED_PORT.search(text):
        return "The site starts more than one server on a port. Start one server on the port in the variable PORT."
    if cause in _CAUSE_HINTS:
        return _CAUSE_HINTS[cause]
    return _hint_of_log(text)


def hint_for_code(code: str, problem: str) -> str | None:
    """Return the hint for a start that ended before the sandbox existed."""
    if code == "RUNTIME_UNAVAILABLE":
        match = re.search(r"cannot run ([\w.-]+)", problem)
        return _hint_for_program(match[1]) if match else None
    return None


def _name_of(host: str) -> str:
    """Return a host without its port."""
    return re.sub(r":\d{1,5}$", "", host)


def _hint_of_log(text: str) -> str:
    """Return the last line that names an error. A traceback can be longer than the end of the log of the caller."""
    lines = _ERROR_LINE.findall(text) or _LINE.findall(text)
    if not lines:
        return "The site wrote nothing to its log. Run its commands on another machine to see the reason."
    return f"The log reports: {lines[-1].strip()[:MAX_NAME_CHARACTERS]}"


def _hint_for_hosts(hosts: Sequence[str], *, is_serving: bool) -> str:
    names = ", ".join(hosts)
    if is_serving:
        return f"The site requested {names} while it was served. Network access while serving is off. {NETWORK_ADVICE}"
    return f"The installation requested {names}. An operator can permit the host with SANDBOX_EGRESS."


def _hint_for_unreachable(hosts: Sequence[str]) -> str:
    names = ", ".join(hosts)
    hint = f"The machine that runs previews cannot connect to {names}. An operator must check its network"
    if _MODULE_PROXY_HOSTS.isdisjoint(hosts):
        return f"{hint}."
    return f"{hint}, or set SANDBOX_MODULE_PROXY to a reachable module proxy. Modules in the folder _vendor need none."


def _hint_for_tools(text: str) -> str | None:
    """Return the hint for a version of Node.js or Corepack that cannot install or serve the site."""
    if _SIGNATURE.search(text):
        return (
            "Corepack cannot verify the package manager: Corepack is outdated, or the registry provides no signatures. "
            "Use npm exec instead of corepack in preview.install, "
            "for example npm exec --yes --package=pnpm@9 -- pnpm install."
        )
    for pattern in _NODE_VERSION:
        if (match := pattern.search(text)) is not None:
            needs, has = match["needs"].strip(" ."), match["has"].strip(" .")
            return (
                f"The site needs Node.js {needs}, and the machine that runs previews has {has}. Install that version "
                "on the machine, or use versions of the packages that support the present one."
            )
    return None


def _hint_for_installation(text: str) -> str | None:
    if _PYTHON_VERSION.search(text):
        return (
            "A package of the site has no version for the Python of the machine that runs previews. Use a version "
            "of the package that supports it, or install a newer Python on the machine."
        )
    package = _first(_UNKNOWN_PACKAGE, text)
    if package is not None:
        package = package.partition("@http")[0]  # npm appends the URL of the lock file.
        return f"The registry does not have the package “{package}”. Correct its name and version in the dependencies."
    return next((hint for pattern, hint in _INSTALLATION_HINTS if pattern.search(text)), None)


def _hint_for_program(program: str) -> str:
    name = program.rpartition("/")[2]
    hint = next((text for names, text in _PROGRAMS.items() if name in names), None)
    return hint or f"The program “{name}” does not exist in the sandbox. Add it to the dependencies of the site."


def _lookups(text: str) -> list[str]:
    return list(dict.fromkeys(filter(None, (name for names in _LOOKUP.findall(text) for name in names))))[:5]


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    matches = [name for match in pattern.finditer(text) for name in match.groups() if name]
    return matches[-1][:MAX_NAME_CHARACTERS] if matches else None
