"""The collector: what real devices answer is stored here, and read back as reports.

`storage` holds a collection, `service` takes answers over HTTP, and a method learns from what arrived as from any users.
"""
