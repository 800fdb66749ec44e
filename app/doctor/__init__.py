"""Looks at a deployment as `flask doctor` does: settings, what the service depends on, and the machine under it.

Each module has the checks of one subject; `examination` runs them all. Nothing that is told holds a secret.
"""
