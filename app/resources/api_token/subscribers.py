"""Revocation of tokens when a membership ends or a password is reset."""

from app.resources.api_token import revocation
from app.resources.organization.events import membership_ended
from app.resources.user.events import password_reset

membership_ended.subscribe(revocation.revoke_of_member)
password_reset.subscribe(revocation.revoke_of_user)
