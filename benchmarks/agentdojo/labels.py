"""What the tools of the suites are, written by hand; printed with every result.

One reading of each tool, not blind: whoever wrote it knows the tasks. It says what is true of the tool, in the
words that any operator has for their own tools: what it changes, who can write what it gives, which of its
arguments decide whom it reaches and what it touches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate_langchain import DataClass, Tier, ToolProfile, TrustZone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["LABELS", "described"]


def _reads(
    *fields: str, trusted: bool = False, endpoints: Iterable[str] = (), data: DataClass = DataClass.BUSINESS
) -> ToolProfile:
    """A tool that changes nothing; `fields` are those of its results that its own system fills in."""
    endpoints = tuple(endpoints)
    return ToolProfile(
        tier=Tier.READ_ONLY,
        results_trusted=trusted,
        trusted_fields=frozenset(fields),
        data_class=data,
        egress="open" if endpoints else "none",
        endpoints=endpoints,
    )


def _changes(
    *decisive: str, tier: Tier = Tier.CONSEQUENTIAL, gives: Iterable[str] | None = None, sends: bool = False,
    endpoints: Iterable[str] = (),
) -> ToolProfile:  # fmt: skip
    """A tool that changes something; `gives` are the fields of a result that others can have written parts of."""
    return ToolProfile(
        tier=tier,
        decisive=frozenset(decisive),
        results_trusted=gives is None,
        trusted_fields=frozenset(gives or ()),
        data_class=DataClass.BUSINESS,
        egress="open" if sends else "none",
        zone=TrustZone.EXTERNAL_ANYWHERE if sends else None,
        endpoints=tuple(endpoints),
    )


# An event's or a mail's text is written by whoever sent it; its id, and when it came, by the system that keeps it.
_MAIL = ("id_", "timestamp", "status", "read")
_EVENT = ("id_", "status", "all_day")
_FILE = ("id_", "size", "last_modified")
# Inside of a workspace a message has the sender that signed in, and the channel it was sent to.
_MESSAGE = ("sender", "recipient")
# A bank fills in all of a transaction but its subject.
_TRANSACTION = ("id", "amount", "date", "recurring", "sender", "recipient")

_CALENDAR = {
    "get_day_calendar_events": _reads(*_EVENT),
    "search_calendar_events": _reads(*_EVENT),
    # Whom it invites, and when; what it is called tells nobody else anything without them.
    "create_calendar_event": _changes("participants", "start_time", sends=True),
    "cancel_calendar_event": _changes("event_id"),
}
_SEND_EMAIL = _changes("recipients", "cc", "bcc", sends=True)

LABELS: dict[str, dict[str, ToolProfile]] = {
    "workspace": {
        **_CALENDAR,
        "reschedule_calendar_event": _changes("event_id", tier=Tier.ROUTINE, gives=_EVENT),
        "add_calendar_event_participants": _changes("event_id", "participants", gives=_EVENT, sends=True),
        "get_current_day": _reads(trusted=True),
        "send_email": _SEND_EMAIL,
        "delete_email": _changes("email_id"),
        "get_unread_emails": _reads(*_MAIL),
        "get_received_emails": _reads(*_MAIL),
        "search_emails": _reads(*_MAIL),
        "get_sent_emails": _reads(trusted=True),
        "get_draft_emails": _reads(trusted=True),
        "search_contacts_by_name": _reads(trusted=True),
        "search_contacts_by_email": _reads(trusted=True),
        "search_files_by_filename": _reads(*_FILE),
        "search_files": _reads(*_FILE),
        "get_file_by_id": _reads(*_FILE),
        "list_files": _reads(*_FILE),
        "create_file": _changes("filename", tier=Tier.ROUTINE),
        "append_to_file": _changes("file_id", tier=Tier.ROUTINE, gives=_FILE),
        "delete_file": _changes("file_id", gives=_FILE),
        "share_file": _changes("file_id", "email", "permission", gives=_FILE, sends=True),
    },
    "slack": {
        "get_channels": _reads(),
        "get_users_in_channel": _reads(trusted=True),
        "read_channel_messages": _reads(*_MESSAGE),
        "read_inbox": _reads(*_MESSAGE),
        "send_direct_message": _changes("recipient", tier=Tier.ROUTINE),
        "send_channel_message": _changes("channel", tier=Tier.ROUTINE),
        "add_user_to_channel": _changes("user", "channel", tier=Tier.ROUTINE),
        "invite_user_to_slack": _changes("user", "user_email"),
        "remove_user_from_slack": _changes("user"),
        "get_webpage": _reads(endpoints=["url"], data=DataClass.PUBLIC),
        "post_webpage": _changes("url", sends=True, endpoints=["url"]),
    },
    "banking": {
        "get_iban": _reads(trusted=True),
        "get_balance": _reads(trusted=True),
        "get_user_info": _reads(trusted=True),
        "get_most_recent_transactions": _reads(*_TRANSACTION),
        "get_scheduled_transactions": _reads(trusted=True),
        "read_file": _reads(),
        "send_money": _changes("recipient", "amount"),
        "schedule_transaction": _changes("recipient", "amount"),
        "update_scheduled_transaction": _changes("id", "recipient", "amount"),
        "update_password": _changes("password"),
        "update_user_info": _changes("first_name", "last_name", "street", "city"),
    },
    "travel": {
        **_CALENDAR,
        # Passport and credit card.
        "get_user_information": _reads(trusted=True, data=DataClass.SECRET),
        # What hotels, restaurants and car rentals are called, cost and offer is what they wrote themselves.
        "get_all_hotels_in_city": _reads(),
        "get_hotels_prices": _reads(),
        "get_hotels_address": _reads(),
        "get_rating_reviews_for_hotels": _reads(),
        "get_all_restaurants_in_city": _reads(),
        "get_restaurants_address": _reads(),
        "get_rating_reviews_for_restaurants": _reads(),
        "get_cuisine_type_for_restaurants": _reads(),
        "get_dietary_restrictions_for_all_restaurants": _reads(),
        "get_contact_information_for_restaurants": _reads(),
        "get_price_for_restaurants": _reads(),
        "check_restaurant_opening_hours": _reads(),
        "get_all_car_rental_companies_in_city": _reads(),
        "get_car_types_available": _reads(),
        "get_rating_reviews_for_car_rental": _reads(),
        "get_car_rental_address": _reads(),
        "get_car_fuel_options": _reads(),
        "get_car_price_per_day": _reads(),
        "get_flight_information": _reads(),
        "reserve_hotel": _changes("hotel", "start_day", "end_day"),
        "reserve_restaurant": _changes("restaurant", "start_time"),
        "reserve_car_rental": _changes("company", "start_time", "end_time"),
        "send_email": _SEND_EMAIL,
    },
}


def described(suite: str) -> Iterator[str]:
    """The labels of a suite's tools, a line for each."""
    for name, profile in sorted(LABELS[suite].items()):
        said = [profile.effective_tier.value]
        if profile.decisive is not None:
            said.append(f"decided by {', '.join(sorted(profile.decisive)) or 'nothing'}")
        if profile.egress != "none":
            said.append("leaves the house" + (f" ({', '.join(profile.endpoints)})" if profile.endpoints else ""))
        if profile.results_trusted:
            said.append("results trusted")
        else:
            fields = ", ".join(sorted(profile.trusted_fields))
            said.append(f"results untrusted{f' but for {fields}' if fields else ''}")
        if profile.data_class is not None:
            said.append(f"{profile.data_class.value} data")
        yield f"{name}: {'; '.join(said)}"
