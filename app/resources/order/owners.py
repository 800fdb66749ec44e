"""Which user a paying customer is: the one a checkout names, else the verified one of an e-mail, else nobody yet."""

from dataclasses import replace

import sqlalchemy as sa

from app.core.upserts import insert_unless_there
from app.drivers.billing.port import CustomerState, RefundState
from app.extensions import db
from app.models.base import moment
from app.models.order import BillingCustomer, BillingEvent, Order, Subscription
from app.models.user import User
from app.resources.order.states import S, unpacked


def locked_customer(customer_id: str) -> BillingCustomer:
    """The customer's row, made where there is none; the transaction keeps others from folding for them meanwhile."""
    wanted = (
        sa.select(BillingCustomer)
        .where(BillingCustomer.id == customer_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    found = db.session.scalar(wanted)
    if found is not None:
        return found
    now = moment()
    values = {"id": customer_id, "created_at": now, "updated_at": now}
    db.session.execute(insert_unless_there(db.engine.dialect.name, BillingCustomer, values, unique=("id",)))
    return db.session.scalars(wanted).one()


def existing_user(user_id: str | None) -> str | None:
    """The id, if there is such a user."""
    return db.session.scalar(sa.select(User.id).where(User.id == user_id)) if user_id else None


def without_strangers(state: S) -> S:
    """The state without the id of somebody who is not there: ids are given once, so they will not be there again."""
    if isinstance(state, RefundState) or existing_user(state.user_id) is not None:
        return state
    return replace(state, user_id=None)


def settle(customer: BillingCustomer) -> None:
    """Find whose a customer's subscriptions and payments are, but for those whose checkout named somebody."""
    customer.user_id = _owner(customer.id)
    db.session.flush()
    for table in (Subscription, Order):
        db.session.execute(
            sa.update(table)
            .where(table.customer_id == customer.id, table.named_user_id.is_(None))
            .where(table.user_id.is_distinct_from(customer.user_id))
            .values(user_id=customer.user_id, updated_at=moment())
        )


def adopt(user: User) -> None:
    """Give a user whose e-mail is verified now what was paid for under it."""
    known = sa.select(BillingEvent.entity_id).where(BillingEvent.email_key == user.email_key).distinct()
    for customer_id in sorted(db.session.scalars(known)):
        settle(locked_customer(customer_id))


def _owner(customer_id: str) -> str | None:
    """The newest state that leads to a user decides; a changed e-mail takes nothing away from who had it before."""
    rows = db.session.scalars(
        sa.select(BillingEvent).where(BillingEvent.entity_id == customer_id, BillingEvent.type.startswith("customer."))
    ).all()
    keys = [row.email_key for row in sorted(rows, key=lambda row: (row.occurred_at, row.id), reverse=True)]
    for known in reversed(unpacked(CustomerState, rows)):
        named = existing_user(known.state.user_id)
        if named is not None:
            return named
    verified = sa.select(User.email_key, User.id).where(User.email_key.in_(keys), User.email_verified)
    users = {row.email_key: row.id for row in db.session.execute(verified)}
    return next((users[key] for key in keys if key in users), None)
