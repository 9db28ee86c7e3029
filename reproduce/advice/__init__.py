"""The runs behind advice on a budget, how they were measured, and the curves that are fitted to them."""
