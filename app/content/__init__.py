"""Type, text, front matter and outline of a file, from its bytes."""

from app.content.describe import FileDescription, describe

__all__ = ["FileDescription", "describe"]
