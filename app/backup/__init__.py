"""Everything the service keeps as one folder, and back: rows, waiting jobs, stored objects, local repositories.

`saving` writes a backup while the service runs, `restoring` fills an empty database from one, `verifying` compares the
two; `manifest` says what a backup holds. Secrets stay sealed: the key ring is not part of a backup, only its keys' names.
"""
