"""The process that keeps one local sandbox: plain standard library, so that it starts at once and stays small."""
