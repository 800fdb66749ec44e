"""Declared actions of passkeys."""

from app.access.guards import public, verified
from app.http.actions import DeclaredAction

OWN = verified().without_second_factor()
BEGIN_REGISTRATION = DeclaredAction(guard=OWN, outside=True, recent=True)
REGISTER = DeclaredAction(guard=OWN, outside=True, recent=True)
CHANGE = DeclaredAction(guard=OWN)
DELETE = DeclaredAction(guard=OWN, recent=True)
BEGIN_SIGN_IN = DeclaredAction(guard=public("public+rate"), rate="passkey")
SIGN_IN = DeclaredAction(guard=public("public+rate"), outside=True, rate="passkey")
