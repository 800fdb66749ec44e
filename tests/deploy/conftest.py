"""Import path for the scripts of `deploy`, which import each other as siblings."""

import sys

from tests.serving.processes import ROOT

sys.path.insert(0, str(ROOT / "deploy"))
