"""A device: one person's row, a ledger on disk, and what is checked before anything is answered."""

from graphveil.client.agreement import Agreement, Cap, Offer
from graphveil.client.calls import Calls
from graphveil.client.device import Device, Inquiry, Sealed, Spending
from graphveil.client.held import Held
from graphveil.client.transport import Http, Response, Transport
from graphveil.client.visit import Visited, enrol, give_row, own_credential, visit

__all__ = [
    "Agreement",
    "Calls",
    "Cap",
    "Device",
    "Held",
    "Http",
    "Inquiry",
    "Offer",
    "Response",
    "Sealed",
    "Spending",
    "Transport",
    "Visited",
    "enrol",
    "give_row",
    "own_credential",
    "visit",
]
