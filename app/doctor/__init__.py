"""Checks of a deployment for `flask doctor`: settings, stores, services and the machine.

Each module checks one subject; `runner` executes all of them. No finding contains a secret.
"""
