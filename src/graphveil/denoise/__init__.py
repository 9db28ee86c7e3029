"""What the server does to reports before it learns from them."""

from graphveil.denoise.energy import dirichlet_energy, energy_over_hops

__all__ = ["dirichlet_energy", "energy_over_hops"]
