"""Double of the Paddle Billing API on a loopback port: paginated lists and the cancellation of subscriptions."""

from datetime import UTC, datetime
from typing import Any

from tests.support.doubles.paddle_data import Entity, event, name, rfc3339
from tests.support.doubles.server import Call, Double, Reply, Stop, route

KEY = "pdl_test_apikey_of_the_double"


class Paddle(Double):
    """The double. `cancellations` contains successful cancellations. `page_size` is the maximum size of a page."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Entity]] = {
            kind: {} for kind in ("subscriptions", "transactions", "adjustments", "customers", "events")
        }
        self.cancellations: list[tuple[str, str]] = []
        self.page_size = 200
        super().__init__()

    def add(self, *entities: Entity) -> None:
        """Add entities of any kind."""
        lists = {"sub": "subscriptions", "txn": "transactions", "adj": "adjustments", "ctm": "customers"}
        for entity in entities:
            if "event_id" in entity:
                self.kept["events"][entity["event_id"]] = entity
            else:
                self.kept[lists[entity["id"].split("_")[0]]][entity["id"]] = entity

    def admit(self, call: Call) -> None:
        if call.headers.get("Authorization") != f"Bearer {KEY}" or call.headers.get("Paddle-Version") != "1":
            raise self._fault(403, "authentication_malformed")

    def _fault(self, status: int, code: str) -> Stop:
        payload = {"type": "request_error", "code": code, "detail": f"The double says {code}."}
        return Stop(status, {"error": payload, "meta": {"request_id": name("req")}})

    def _one(self, kind: str, wanted: str) -> Entity:
        found = self.kept[kind].get(wanted)
        if found is None:
            raise self._fault(404, "not_found")
        return found

    @route("GET", "/(?:subscriptions|transactions|adjustments|customers|events)")
    def list(self, call: Call) -> Reply:
        kind = call.path.strip("/")
        with self.lock:
            known = sorted(self.kept[kind].values(), key=self._sort_key, reverse="desc" in call.one("order_by"))
        since = call.one("updated_at[GTE]")
        known = [one for one in known if not since or one["updated_at"] >= since]
        after, size = call.one("after"), min(self.page_size, int(call.one("per_page", "50")))
        places = [one.get("event_id") or one["id"] for one in known]
        start = places.index(after) + 1 if after else 0
        shown, has_more = known[start : start + size], start + size < len(known)
        last = places[start : start + size][-1:] or [""]
        order = call.one("order_by")
        # Links of Paddle contain its public host. A client that follows them leaves the configured host.
        link = f"https://api.paddle.com/{kind}?after={last[0]}&per_page={size}&order_by={order}"
        paging = {"per_page": size, "next": link, "has_more": has_more, "estimated_total": len(known)}
        return Reply(200, {"data": shown, "meta": {"request_id": name("req"), "pagination": paging}})

    @staticmethod
    def _sort_key(entity: Entity) -> tuple[str, str]:
        return entity.get("occurred_at") or entity["created_at"], entity.get("event_id") or entity["id"]

    @route("GET", "/subscriptions/{wanted}")
    def subscription(self, _call: Call, wanted: str) -> Reply:
        return self._answer(self._one("subscriptions", wanted))

    @route("POST", "/subscriptions/{wanted}/cancel")
    def cancel(self, call: Call, wanted: str) -> Reply:
        when = call.data["effective_from"]
        with self.lock:
            item = self._one("subscriptions", wanted)
            if item["status"] == "canceled":
                raise self._fault(400, "subscription_update_when_canceled")
            if item["scheduled_change"] and when == "next_billing_period":
                raise self._fault(400, "subscription_locked_pending_changes")
            self.cancellations.append((wanted, when))
            self._end(item, when)
            return self._answer(item)

    def _end(self, found: Entity, when: str) -> None:
        now = rfc3339(datetime.now(UTC))
        found["updated_at"] = now
        if when == "immediately":
            found |= {"status": "canceled", "canceled_at": now, "scheduled_change": None, "next_billed_at": None}
            self.add(event("subscription.canceled", found, datetime.now(UTC)))
        else:
            end = found["current_billing_period"]["ends_at"]
            found["scheduled_change"] = {"action": "cancel", "effective_at": end, "resume_at": None}
            self.add(event("subscription.updated", found, datetime.now(UTC)))

    @route("GET", "/subscriptions/{wanted}/update-payment-method-transaction")
    def payment_update(self, _call: Call, wanted: str) -> Reply:
        item = self._one("subscriptions", wanted)
        if item["status"] == "canceled":
            raise self._fault(400, "subscription_update_when_canceled")
        made = name("txn")
        return self._answer({"id": made, "checkout": {"url": f"https://pay.example.org/?_ptxn={made}"}})

    def _answer(self, data: Any) -> Reply:
        return Reply(200, {"data": data, "meta": {"request_id": name("req")}})
