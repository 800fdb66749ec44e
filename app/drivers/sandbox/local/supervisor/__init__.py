"""Supervisor process of one local sandbox. It uses the standard library only, which keeps its start fast."""
