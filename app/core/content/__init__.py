"""What a file's bytes say: its type, text, front matter and outline; knows neither tables nor HTTP nor Git."""

from app.core.content.describe import FileFacts, describe

__all__ = ["FileFacts", "describe"]
