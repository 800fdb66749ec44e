"""The blueprint of the console. Its URLs start with `/console`."""

from flask import Blueprint

blueprint = Blueprint("console", __name__)

ROOT = "/console"
