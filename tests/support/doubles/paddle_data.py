"""Entities, events and signatures of Paddle (API version 1)."""

import hashlib
import hmac
import json
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

Entity = dict[str, Any]
START = datetime(2026, 1, 1, tzinfo=UTC)
MONTH = {"interval": "month", "frequency": 1}


def name(prefix: str) -> str:
    """Return a new id in the format of Paddle."""
    return f"{prefix}_01{secrets.token_hex(12)}"


def rfc3339(moment: datetime) -> str:
    """Return a time in the format of Paddle, with microseconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def item(amount: int, *, plan: str = "Pro", currency: str = "USD", cycle: Entity | None = None) -> Entity:
    """Return an item of a subscription or transaction. The product has the name of the plan."""
    price = {
        "id": name("pri"),
        "product_id": name("pro"),
        "name": f"{plan} price",
        "billing_cycle": cycle or MONTH,
        "unit_price": {"amount": str(amount), "currency_code": currency},
        "custom_data": None,
    }
    return {"status": "active", "quantity": 1, "recurring": True, "price": price, "product": {"name": plan}}


def subscription(
    amount: int = 2900,
    *,
    plan: str = "Pro",
    status: str = "active",
    currency: str = "USD",
    cycle: Entity | None = None,
    user_id: str | None = None,
    customer_id: str | None = None,
    started_at: datetime = START,
    **more: Any,
) -> Entity:
    """Return a subscription."""
    made = {
        "id": name("sub"),
        "status": status,
        "customer_id": customer_id or name("ctm"),
        "currency_code": currency,
        "created_at": rfc3339(started_at),
        "updated_at": rfc3339(started_at),
        "started_at": rfc3339(started_at),
        "first_billed_at": rfc3339(started_at),
        "next_billed_at": rfc3339(started_at + timedelta(days=31)),
        "canceled_at": None,
        "paused_at": None,
        "collection_mode": "automatic",
        "billing_cycle": cycle or MONTH,
        "current_billing_period": {"starts_at": rfc3339(started_at), "ends_at": rfc3339(started_at + timedelta(31))},
        "scheduled_change": None,
        "items": [item(amount, plan=plan, currency=currency, cycle=cycle)],
        "custom_data": {"user_id": user_id} if user_id else None,
    }
    return made | more


def transaction(
    amount: int = 2900,
    *,
    plan: str = "Pro",
    currency: str = "USD",
    of: Entity | None = None,
    user_id: str | None = None,
    customer_id: str | None = None,
    at: datetime = START,
    **more: Any,
) -> Entity:
    """Return a completed transaction with or without a subscription."""
    made = {
        "id": name("txn"),
        "status": "completed",
        "origin": "subscription_recurring",
        "customer_id": customer_id or (of["customer_id"] if of else name("ctm")),
        "subscription_id": of["id"] if of else None,
        "invoice_number": f"325-{secrets.randbelow(99999):05}",
        "currency_code": currency,
        "billed_at": rfc3339(at),
        "created_at": rfc3339(at),
        "updated_at": rfc3339(at),
        "billing_period": {"starts_at": rfc3339(at), "ends_at": rfc3339(at + timedelta(31))},
        "items": [item(amount, plan=plan, currency=currency)],
        "details": {"totals": {"total": str(amount), "grand_total": str(amount), "currency_code": currency}},
        "payments": [{"status": "captured", "amount": str(amount), "captured_at": rfc3339(at)}],
        "custom_data": {"user_id": user_id} if user_id else None,
    }
    return made | more


def adjustment(of: Entity, amount: int, *, status: str = "approved", action: str = "refund", **more: Any) -> Entity:
    """Return a refund of a transaction."""
    made = {
        "id": name("adj"),
        "action": action,
        "transaction_id": of["id"],
        "subscription_id": of["subscription_id"],
        "customer_id": of["customer_id"],
        "reason": "not wanted",
        "currency_code": of["currency_code"],
        "status": status,
        "totals": {"total": str(amount), "currency_code": of["currency_code"]},
        "created_at": of["created_at"],
        "updated_at": of["updated_at"],
    }
    return made | more


def customer(email: str, **more: Any) -> Entity:
    """Return a customer."""
    made = {
        "id": name("ctm"),
        "email": email,
        "name": None,
        "status": "active",
        "custom_data": None,
        "created_at": rfc3339(START),
        "updated_at": rfc3339(START),
    }
    return made | more


def event(kind: str, data: Entity, at: datetime = START) -> Entity:
    """Return the payload of a notification."""
    return {
        "event_id": name("evt"),
        "event_type": kind,
        "occurred_at": rfc3339(at),
        "notification_id": name("ntf"),
        "data": json.loads(json.dumps(data)),
    }


def signature(body: bytes, secret: str, at: datetime) -> str:
    """Return the header `Paddle-Signature`."""
    told = int(at.timestamp())
    return f"ts={told};h1={hmac.new(secret.encode(), f'{told}:'.encode() + body, hashlib.sha256).hexdigest()}"
