"""How reported links become a graph, by name, as far as that can be said without what computes it."""

# plain: as reported, thinned; hard: likelier than not; soft: weighed by how likely; hybrid: weighed by the square of that.
VARIANTS = ("plain", "hard", "soft", "hybrid")
