"""Request bodies, queries and response schemas of billing (contract 4.11)."""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Annotated

from marshmallow import ValidationError, fields, validate

from app.core import clock
from app.http.validation import DateTimeMs, Length, RequestBody, RequestQuery, RequestSchema, text
from app.resources.user.schemas import Country, Email

MAX_YEARS = 10
FIRST_YEAR, LAST_YEAR = 2000, 2100


class EffectiveFrom(StrEnum):
    """The time at which a cancellation takes effect."""

    NEXT_BILLING_PERIOD = "next_billing_period"
    IMMEDIATELY = "immediately"


@dataclass(frozen=True, kw_only=True)
class CancelSubscriptionBody(RequestBody):
    """The subscription to cancel, by our id or the provider's, and the time."""

    subscription_id: Annotated[
        str,
        fields.String(
            required=True,
            validate=validate.Regexp(r"sub_[A-Za-z0-9_]{1,80}\Z", error="This is not a valid id."),
            metadata={"maxLength": 84},
        ),
    ]
    effective_from: Annotated[
        EffectiveFrom,
        fields.Enum(
            EffectiveFrom,
            by_value=True,
            load_default=EffectiveFrom.NEXT_BILLING_PERIOD,
            metadata={"description": "`next_billing_period` is the end of the paid period"},
        ),
    ]
    reason: Annotated[
        str | None,
        fields.String(
            load_default=None,
            allow_none=True,
            validate=Length(max=1000),
            metadata={"description": "The reason of the user, for the log of the operator"},
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class PreOrderBody(RequestBody):
    """A plan that a user is interested in."""

    plan: Annotated[str, text(1, 100)]
    email: Annotated[str | None, Email(load_default=None, allow_none=True)]
    billing_period: Annotated[str | None, text(1, 20, required=False, load_default=None, allow_none=True)]
    country: Annotated[str | None, Country(load_default=None, allow_none=True)]
    source: Annotated[
        str | None,
        text(
            1,
            255,
            required=False,
            load_default=None,
            allow_none=True,
            metadata={"description": "The page or campaign from which the visitor came"},
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class SummaryQuery(RequestQuery):
    """Range of days, the last one included, and a currency."""

    since: Annotated[date | None, fields.Date(data_key="from", load_default=None)]
    until: Annotated[date | None, fields.Date(data_key="to", load_default=None)]
    currency: Annotated[
        str | None,
        fields.String(
            load_default=None,
            validate=validate.Regexp(r"[A-Z]{3}\Z", error="Must be like USD."),
            metadata={"maxLength": 3},
        ),
    ]

    def __post_init__(self) -> None:
        """Check the order and the length of the range."""
        since, until = self.since, self.until or clock.now().date()
        if not FIRST_YEAR <= until.year <= LAST_YEAR:
            raise ValidationError(f"Must be between {FIRST_YEAR} and {LAST_YEAR}.", "to")
        if since is not None and not 0 <= (until - since).days <= MAX_YEARS * 366:
            raise ValidationError(f"Must not be after `to`, nor more than {MAX_YEARS} years before it.", "from")


class OrderSchema(RequestSchema):
    """A payment."""

    order_id = fields.String(attribute="id", metadata={"description": "The id of the payment in this service"})
    number = fields.String(
        allow_none=True, metadata={"description": "The invoice number of the payment provider, or null"}
    )
    status = fields.String(metadata={"description": "`completed`, `failed`, `partially_refunded` or `refunded`"})
    plan = fields.String(
        allow_none=True, metadata={"description": "The name of the plan, or null if the payment names none"}
    )
    amount = fields.Integer(attribute="amount_minor")
    currency = fields.String()
    period = fields.String(
        allow_none=True,
        metadata={"description": "The first and the last day of the paid period, separated by a slash, or null"},
    )
    invoice_url = fields.String(allow_none=True)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)


class SubscriptionSchema(RequestSchema):
    """A subscription that bills every `frequency` times `interval`."""

    subscription_id = fields.String(attribute="id")
    provider_subscription_id = fields.String(attribute="provider_id")
    plan = fields.String()
    status = fields.String()
    amount = fields.Integer(attribute="amount_minor")
    currency = fields.String()
    interval = fields.String()
    frequency = fields.Integer()
    current_period_end = DateTimeMs(allow_none=True)
    cancel_at = DateTimeMs(allow_none=True)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)


class BillingHistorySchema(RequestSchema):
    """Orders and subscriptions of a user."""

    orders = fields.List(fields.Nested(OrderSchema), metadata={"description": "Newest first"})
    subscriptions = fields.List(fields.Nested(SubscriptionSchema), metadata={"description": "Newest first"})
    active_package = fields.String(allow_none=True)


class PaymentUpdateSchema(RequestSchema):
    """A checkout in which the payer changes the payment method."""

    transaction_id = fields.String()
    checkout_url = fields.String(allow_none=True)
    client_token = fields.String(allow_none=True)


class PreOrderSchema(RequestSchema):
    """A stored pre-order."""

    pre_order_id = fields.String(attribute="id")


class PlanSchema(RequestSchema):
    """Monthly revenue of a plan."""

    plan = fields.String(metadata={"description": "The name of the plan at the payment provider"})
    mrr = fields.Integer()
    active = fields.Integer(metadata={"description": "The number of active paying subscriptions at `to`"})


class MonthSchema(RequestSchema):
    """Figures of a month and the MRR at its end."""

    month = fields.String(metadata={"description": "A calendar month in UTC, for example `2026-11`"})
    revenue = fields.Integer()
    refunds = fields.Integer()
    mrr = fields.Integer()


class CurrencySchema(RequestSchema):
    """The figures of one currency."""

    mrr = fields.Integer()
    arr = fields.Integer()
    revenue = fields.Integer()
    refunds = fields.Integer()
    net_revenue = fields.Integer()
    arpu = fields.Integer()
    active = fields.Integer(metadata={"description": "The number of active paying subscriptions at `to`"})
    by_plan = fields.List(fields.Nested(PlanSchema), metadata={"description": "Plans with active subscriptions"})
    by_month = fields.List(fields.Nested(MonthSchema), metadata={"description": "The months from `from` to `to`"})


class SummarySchema(RequestSchema):
    """Revenue and subscriptions of the whole platform."""

    since = fields.Date(data_key="from")
    until = fields.Date(data_key="to")
    currencies = fields.Dict(keys=fields.String(), values=fields.Nested(CurrencySchema))
    active_subscriptions = fields.Integer()
    trialing_subscriptions = fields.Integer()
    new_subscriptions = fields.Integer()
    canceled_subscriptions = fields.Integer()
    churn_rate = fields.Float()
    pre_orders = fields.Integer()
