"""Changes of the tree of a commit, and the tree objects that result."""

from app.drivers.git.local.trees import FOLDER, FOLDER_MODES, Entries, LocalTree
from app.drivers.git.object_ids import GitObject, new_object

_FOLDER_MODE = b"40000"
_ROOT = b""


class TreeEdit:
    """Copies of the changed folders of a tree. `tree` is None for the first commit of a repository."""

    def __init__(self, tree: LocalTree | None) -> None:
        self._tree = tree
        self._folders: dict[bytes, Entries] = {_ROOT: dict(tree.root()) if tree is not None else {}}

    def remove(self, path: str) -> None:
        """Remove a file."""
        above, _, name = path.encode().rpartition(b"/")
        self._folder(above).pop(name, None)

    def write(self, path: str, mode: str, sha: str) -> None:
        """Set the blob of a path. It replaces a folder, whose files were removed."""
        location = path.encode()
        if location in self._folders:
            for folder in [one for one in self._folders if one == location or one.startswith(location + b"/")]:
                del self._folders[folder]
        above, _, name = location.rpartition(b"/")
        self._folder(above)[name] = mode.encode(), bytes.fromhex(sha)

    def objects(self) -> list[GitObject]:
        """Return the objects of the changed folders. The root is the last one. A folder without entries is removed."""
        created: list[GitObject] = []
        for path in sorted(self._folders, key=lambda path: path.count(b"/") if path else -1, reverse=True):
            entries = self._folders[path]
            if entries or path == _ROOT:
                created.append(new_object(FOLDER, _content(entries)))
            if path == _ROOT:
                continue
            above, _, name = path.rpartition(b"/")
            if entries:
                self._folders[above][name] = _FOLDER_MODE, bytes.fromhex(created[-1].sha)
            else:
                self._folders[above].pop(name, None)
        return created

    def _folder(self, path: bytes) -> Entries:
        """Return the entries of a folder, which need not exist."""
        folder, above = self._folders[_ROOT], _ROOT
        for name in path.split(b"/") if path else ():
            location = above + b"/" + name if above else name
            if location not in self._folders:
                mode, sha = folder.get(name, (b"", b""))
                stored = self._tree.folder(sha.hex()) if self._tree and mode in FOLDER_MODES else {}
                self._folders[location] = dict(stored)
            folder, above = self._folders[location], location
        return folder


def _content(entries: Entries) -> bytes:
    """Return the content of a tree object. Git sorts a folder as if its name ended with a slash."""
    ordered = sorted(entries.items(), key=lambda item: item[0] + b"/" if item[1][0] in FOLDER_MODES else item[0])
    return b"".join(b"%s %s\0%s" % (mode, name, sha) for name, (mode, sha) in ordered)
