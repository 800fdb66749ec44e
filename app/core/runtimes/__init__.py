"""How a repository's site is installed and served for a preview, told by its files; runs nothing."""
