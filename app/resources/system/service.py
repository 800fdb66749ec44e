"""What the process can tell of itself."""


def welcome(base_url: str) -> str:
    """The text at `/`."""
    return (
        "Galley: every save is a commit.\n\n"
        f"API:       {base_url}/api/v1\n"
        f"Reference: {base_url}/api/v1/docs\n"
        f"OpenAPI:   {base_url}/api/v1/openapi.json\n"
        f"Health:    {base_url}/healthz\n"
    )
