"""Let background jobs read the draft states of all files again.

Pages with `published: false` are drafts since this version.
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Forget up to which commit the values of the files are stored."""
    indexes = sa.table("content_indexes", sa.column("listed_sha", sa.String()))
    op.execute(indexes.update().values(listed_sha=None))


def downgrade() -> None:
    """Keep the states. The previous version stores them again with the next commit of each file."""
