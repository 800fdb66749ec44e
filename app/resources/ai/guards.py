"""Declared call of a language model, which the API and the console run."""

from app.access.guards import member_of_named
from app.http.actions import DeclaredAction

ASK = DeclaredAction(guard=member_of_named(), outside=True, allow_archived=True, rate="ai")
