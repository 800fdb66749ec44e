"""Write `docs/errors.md` from the tables of the error codes."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from app.http.api_document.error_codes import markdown  # noqa: E402 (the checkout is no installed package)

if __name__ == "__main__":
    (ROOT / "docs" / "errors.md").write_text(markdown(), encoding="utf-8")
