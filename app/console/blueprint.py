"""The blueprints of the console. The URLs of its pages start with `/console`, those of guests with `/review`."""

from flask import Blueprint

blueprint = Blueprint("console", __name__)
guest_blueprint = Blueprint("review", __name__)

ROOT, GUEST_ROOT = "/console", "/review"
