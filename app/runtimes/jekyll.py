"""Recipes of Jekyll sites, with Bundler if there is a Gemfile."""

import hashlib
import re
from collections.abc import Collection

from app.runtimes.recipe import BASE, HOST, PORT, Read, Recipe

FOLDERS = ("_posts/", "_layouts/", "_includes/", "_sass/", "_data/")
GEM = re.compile(rb"^[ \t]{0,20}gem[ \t]{0,20}[('\"]{1,2}(?:jekyll|github-pages)['\"]", re.MULTILINE)
INSTALL_GEMS = """\
echo "$ bundle check || bundle install"
bundle check || bundle install && exit
command -v jekyll >/dev/null && find "$GEM_HOME" -mindepth 1 -delete
"""
"""Gems of the system are used if they satisfy the Gemfile. Others are installed into GEM_HOME.

An empty folder is not cached, so that the next start tries again."""
OUTPUT = "_site"
RUN_WITH_GEMS = """\
if bundle check >/dev/null 2>&1; then
  set -- bundle exec "$@"
else
  echo "The gems of the Gemfile could not be installed. The Jekyll of the system is used, with its own plugins."
  export JEKYLL_NO_BUNDLER_REQUIRE=true
fi
echo "$ $*"
exec "$@"
"""


def is_site(paths: Collection[str], read: Read) -> bool:
    """Return whether a folder is a Jekyll site."""
    has_folders = any(path.startswith(FOLDERS) for path in paths)
    if "_config.yml" not in paths and "_config.yaml" not in paths:
        return has_folders and GEM.search(read("Gemfile") or b"") is not None
    return "Gemfile" in paths or "index.html" not in paths or has_folders


def recipe(paths: Collection[str], read: Read, folder: str) -> Recipe:
    """Return the recipe of a folder with the files of Jekyll."""
    # The preview serves the site at the root of a host, also if the site is published in a folder.
    options = ("--baseurl", "", "--drafts", "--future", "--destination", "/tmp/site")  # noqa: S108 (inside the jail)
    serve = ("jekyll", "serve", "--host", HOST, "--port", PORT, *options)
    build = ("env", "JEKYLL_ENV=production", "jekyll", "build", "--baseurl", BASE, "--destination", OUTPUT)
    if "Gemfile" not in paths:
        return Recipe(serve, folder=folder, tools=("jekyll",), build=build, output=OUTPUT)
    gems = b"\0".join(read(name) or b"" for name in ("Gemfile", "Gemfile.lock"))
    return Recipe(
        ("sh", "-c", RUN_WITH_GEMS, "sh", *serve),
        install=(("sh", "-c", INSTALL_GEMS),),
        environment={
            "GEM_HOME": "/tmp/gems",  # noqa: S108 (inside the jail)
            "BUNDLE_PATH__SYSTEM": "true",
            "BUNDLE_APP_CONFIG": "/tmp/bundle",  # noqa: S108 (inside the jail)
            "BUNDLE_FROZEN": "false",
        },
        folder=folder,
        tools=("bundle",),
        dependencies=hashlib.sha256(gems).hexdigest(),
        dependency_folder="/tmp/gems",  # noqa: S108 (inside the jail)
        build=("sh", "-c", RUN_WITH_GEMS, "sh", *build),
        output=OUTPUT,
    )
