"""Backup of the service as one folder: rows, waiting jobs, stored objects and local repositories.

`save` writes a backup while the service runs, `restore` fills an empty database from it, and `verify` compares both.
`manifest` describes the contents of a backup. Secrets stay encrypted: a backup contains the ids of the keys, not the
keys.
"""
