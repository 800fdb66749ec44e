"""The texts of the scripts. A page carries their translations."""

import json

from app.console.translation import current_language, translations

TEXTS = (
    "Action",
    "Address",
    "Apply",
    "Bold",
    "Bulleted list",
    "Cancel",
    "Checking session",
    "Cloning repository",
    "Close",
    "Code",
    "Code block",
    "Draft stored",
    "Formatting",
    "Heading {level}",
    "Image",
    "Image uploaded",
    "Installing dependencies",
    "Italic",
    "Keyboard shortcuts",
    "Link",
    "Next and previous entry",
    "No results.",
    "Not saved",
    "Numbered list",
    "Open the entry",
    "Page",
    "Paragraph",
    "Quote",
    "Redo",
    "Remove link",
    "Results",
    "Retry",
    "Save",
    "Saved",
    "Saving …",
    "Search and commands",
    "Search in the list",
    "Select the entry",
    "Sign in again",
    "Sign in in a new tab",
    "Source",
    "Starting server",
    "Starting the preview …",
    "Step {number} of {count}: {step}",
    "Style",
    "Text",
    "The draft was not stored.",
    "The image was not uploaded.",
    "The preview could not be started.",
    "The preview does not follow at the moment.",
    "The preview has ended.",
    "The preview shows the saved version of the site.",
    "The preview shows your unsaved text.",
    "The service does not respond. Your text is still here.",
    "Undo",
    "Uploading {name} …",
    "Waiting for server",
    "You are offline. Your text is still here.",
    "Your session has ended. Your text is still here.",
    "{count} words",
)


def script_texts() -> str:
    """Return a JSON object from English text to translation, without the texts that have no translation."""
    catalog = translations(current_language())
    pairs = {text: catalog.gettext(text) for text in TEXTS}
    return json.dumps({text: value for text, value in pairs.items() if value != text}, ensure_ascii=False)
