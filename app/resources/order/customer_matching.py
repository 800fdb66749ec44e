"""Assignment of paying customers to users: by the id in the checkout, else by a verified e-mail address."""

from dataclasses import replace

import sqlalchemy as sa

from app.database.inserts import insert_or_ignore
from app.drivers.billing.port import CustomerState, RefundState
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.order import BillingCustomer, BillingEvent, Order, Subscription
from app.models.user import User
from app.resources.order.projection import S, from_json


def locked_customer(customer_id: str) -> BillingCustomer:
    """Return the customer's row with a lock. Create it if it does not exist."""
    statement = (
        sa.select(BillingCustomer)
        .where(BillingCustomer.id == customer_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    customer = db.session.scalar(statement)
    if customer is not None:
        return customer
    now = utcnow_ms()
    values = {"id": customer_id, "created_at": now, "updated_at": now}
    db.session.execute(insert_or_ignore(db.engine.dialect.name, BillingCustomer, values, unique=("id",)))
    return db.session.scalars(statement).one()


def existing_user(user_id: str | None) -> str | None:
    """Return the id if the user exists."""
    return db.session.scalar(sa.select(User.id).where(User.id == user_id)) if user_id else None


def drop_unknown_user(state: S) -> S:
    """Return the state without the id of a user that does not exist. Ids are not reused."""
    if isinstance(state, RefundState) or existing_user(state.user_id) is not None:
        return state
    return replace(state, user_id=None)


def assign_owner(customer: BillingCustomer) -> None:
    """Assign a customer's subscriptions and payments to a user, except those whose checkout names a user."""
    customer.user_id = _owner(customer.id)
    db.session.flush()
    for table in (Subscription, Order):
        db.session.execute(
            sa.update(table)
            .where(table.customer_id == customer.id, table.named_user_id.is_(None))
            .where(table.user_id.is_distinct_from(customer.user_id))
            .values(user_id=customer.user_id, updated_at=utcnow_ms())
        )


def claim_by_email(user: User) -> None:
    """Assign payments of an e-mail address to the user who has verified it."""
    customer_ids = sa.select(BillingEvent.entity_id).where(BillingEvent.email_key == user.email_key).distinct()
    for customer_id in sorted(db.session.scalars(customer_ids)):
        assign_owner(locked_customer(customer_id))


def _owner(customer_id: str) -> str | None:
    """Return the user of the newest state with a known user. A changed e-mail address does not change the owner."""
    rows = db.session.scalars(
        sa.select(BillingEvent).where(BillingEvent.entity_id == customer_id, BillingEvent.type.startswith("customer."))
    ).all()
    keys = [row.email_key for row in sorted(rows, key=lambda row: (row.occurred_at, row.id), reverse=True)]
    for customer_state in reversed(from_json(CustomerState, rows)):
        named = existing_user(customer_state.state.user_id)
        if named is not None:
            return named
    verified = sa.select(User.email_key, User.id).where(User.email_key.in_(keys), User.email_verified)
    users = {row.email_key: row.id for row in db.session.execute(verified)}
    return next((users[key] for key in keys if key in users), None)
