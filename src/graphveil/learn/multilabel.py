"""What a model learns towards where a user may have any number of labels."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

from graphveil.graphs.metrics import micro_f1
from graphveil.learn.targets import Targets


@dataclass(frozen=True)
class MultilabelTargets(Targets):
    """Labels are n x L, each 0 or 1; a row is -1 where it is not known. Scores are n x L, each the log-odds of one label.

    The loss is the binary cross-entropy, averaged over users and labels. A label is predicted where its sigmoid is above one
    half, and the score is the F1 over all users and labels at once (micro-F1).
    """

    def loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        """The mean loss of m rows of scores (m x L) against m rows of labels."""
        return functional.binary_cross_entropy_with_logits(scores, labels.to(scores))

    def probabilities(self, scores: Tensor) -> Tensor:
        """The probability of each label of each user, n x L."""
        return scores.sigmoid()

    def validation_score(self, scores: Tensor) -> float:
        """The micro-F1 of the validation users."""
        predicted, held = (rows[self.validation_rows] > 0 for rows in (scores, self.labels))
        return micro_f1(predicted.cpu().numpy(), held.cpu().numpy())
