"""Text of the welcome page."""

CONSOLE = "/console"
"""The page to which a browser is redirected."""


def welcome(base_url: str) -> str:
    """Return the text at `/`."""
    return (
        "Galley: every save is a commit.\n\n"
        f"Console:   {base_url}{CONSOLE}\n"
        f"API:       {base_url}/api/v1\n"
        f"Reference: {base_url}/api/v1/docs\n"
        f"OpenAPI:   {base_url}/api/v1/openapi.json\n"
        f"Health:    {base_url}/healthz\n"
    )
