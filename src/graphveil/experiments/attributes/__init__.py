"""Attributes in the order of what they say about classes or links, beside what raw features would say."""
