"""Learning: backbones whose input stays sparse, and the loop that trains them.

A module is loaded when one of its names is first used.
"""

from typing import TYPE_CHECKING

from graphveil.lazy import load_later

if TYPE_CHECKING:
    from graphveil.learn.answer_tables import Asked, Judged, class_evidence
    from graphveil.learn.answered import (
        Answered,
        Judges,
        clearly_better,
        edge_operators,
        log_rows,
        with_answers,
    )
    from graphveil.learn.attributes import ANALYSES, combined_scores
    from graphveil.learn.backbones import (
        APPNP,
        GAT,
        GCN,
        GIN,
        MLP,
        SGC,
        SSGC,
        Backbone,
        GraphSAGE,
    )
    from graphveil.learn.blend import choose_blend, mix
    from graphveil.learn.calibration import calibrated, calibration_error, log_losses
    from graphveil.learn.checkpoints import Checkpoints
    from graphveil.learn.degree_table import degree_probabilities
    from graphveil.learn.denoised import Denoised
    from graphveil.learn.divided import divided_input, joined_input
    from graphveil.learn.hadamard import LinkSchedule, fit_links
    from graphveil.learn.inputs import estimate_input, raw_input, refuse_above, report_input, report_scale
    from graphveil.learn.known import Known
    from graphveil.learn.label_propagation import as_probabilities, class_shares, spread, training_labels
    from graphveil.learn.label_rates import as_rates, degree_rates, known_rates, with_known
    from graphveil.learn.link_features import (
        adamic_adar,
        by_degrees,
        degree_scores,
        page_rank,
        resource_allocation,
        smaller_degree,
        walk_scores,
    )
    from graphveil.learn.link_model import LinkModel, adjacency_rows, fit_link
    from graphveil.learn.link_targets import InnerProducts, LinkTargets
    from graphveil.learn.masked_labels import LabelNetwork, MaskedInputs, fit_masked, masked_inputs
    from graphveil.learn.moments import correlation_scores, pair_fisher_scores
    from graphveil.learn.multilabel import MultilabelTargets
    from graphveil.learn.outside_backbone import OutsideBackbone
    from graphveil.learn.pair_trees import FEWEST_PAIRS, PairTrees
    from graphveil.learn.process import one_thread, seeded
    from graphveil.learn.ranking import jaccard
    from graphveil.learn.registry import BACKBONES, build_backbone
    from graphveil.learn.rounds import answer_square, rounds_input
    from graphveil.learn.scales import best_scale
    from graphveil.learn.several import SeveralTargets
    from graphveil.learn.spectral import spectrum
    from graphveil.learn.targeting import (
        SPLITS,
        Round,
        Target,
        expected_error,
        expected_target,
        pooled_target,
        printed_target,
        signal,
    )
    from graphveil.learn.targets import DropTargets, Goal, Targets, true_classes
    from graphveil.learn.taught import Means, Taught, column_means, learn_means, teach_by_means, teach_by_rows
    from graphveil.learn.tensor_file import read_tensors
    from graphveil.learn.tensors import tensor
    from graphveil.learn.topology import Topology
    from graphveil.learn.training import Fitted, Progress, Schedule, apply, fit
    from graphveil.learn.weighted import LinkObjective, Turns, WeightedTopology, fit_with_links
else:
    __getattr__, __dir__ = load_later(
        __name__,
        {
            "answered": (
                "Answered",
                "Judges",
                "clearly_better",
                "edge_operators",
                "log_rows",
                "with_answers",
            ),
            "attributes": ("ANALYSES", "combined_scores"),
            "backbones": (
                "APPNP",
                "GAT",
                "GCN",
                "GIN",
                "MLP",
                "SGC",
                "SSGC",
                "Backbone",
                "GraphSAGE",
            ),
            "blend": ("choose_blend", "mix"),
            "checkpoints": ("Checkpoints",),
            "calibration": ("calibrated", "calibration_error", "log_losses"),
            "answer_tables": ("Asked", "Judged", "class_evidence"),
            "degree_table": ("degree_probabilities",),
            "denoised": ("Denoised",),
            "divided": ("divided_input", "joined_input"),
            "hadamard": ("LinkSchedule", "fit_links"),
            "inputs": ("estimate_input", "raw_input", "refuse_above", "report_input", "report_scale"),
            "known": ("Known",),
            "label_propagation": ("as_probabilities", "class_shares", "spread", "training_labels"),
            "label_rates": ("as_rates", "degree_rates", "known_rates", "with_known"),
            "link_features": (
                "adamic_adar",
                "by_degrees",
                "degree_scores",
                "page_rank",
                "resource_allocation",
                "smaller_degree",
                "walk_scores",
            ),
            "link_model": ("LinkModel", "adjacency_rows", "fit_link"),
            "link_targets": ("InnerProducts", "LinkTargets"),
            "masked_labels": ("LabelNetwork", "MaskedInputs", "fit_masked", "masked_inputs"),
            "moments": ("correlation_scores", "pair_fisher_scores"),
            "multilabel": ("MultilabelTargets",),
            "outside_backbone": ("OutsideBackbone",),
            "pair_trees": ("FEWEST_PAIRS", "PairTrees"),
            "process": ("one_thread", "seeded"),
            "ranking": ("jaccard",),
            "registry": ("BACKBONES", "build_backbone"),
            "rounds": ("answer_square", "rounds_input"),
            "scales": ("best_scale",),
            "several": ("SeveralTargets",),
            "spectral": ("spectrum",),
            "taught": ("Means", "Taught", "column_means", "learn_means", "teach_by_means", "teach_by_rows"),
            "targeting": (
                "SPLITS",
                "Round",
                "Target",
                "expected_error",
                "expected_target",
                "pooled_target",
                "printed_target",
                "signal",
            ),
            "targets": ("DropTargets", "Goal", "Targets", "true_classes"),
            "tensor_file": ("read_tensors",),
            "tensors": ("tensor",),
            "topology": ("Topology",),
            "training": ("Fitted", "Progress", "Schedule", "apply", "fit"),
            "weighted": ("LinkObjective", "Turns", "WeightedTopology", "fit_with_links"),
        },
    )

__all__ = [
    "ANALYSES",
    "APPNP",
    "BACKBONES",
    "FEWEST_PAIRS",
    "GAT",
    "GCN",
    "GIN",
    "MLP",
    "SGC",
    "SPLITS",
    "SSGC",
    "Answered",
    "Asked",
    "Backbone",
    "Checkpoints",
    "Denoised",
    "DropTargets",
    "Fitted",
    "Goal",
    "GraphSAGE",
    "InnerProducts",
    "Judged",
    "Judges",
    "Known",
    "LabelNetwork",
    "LinkModel",
    "LinkObjective",
    "LinkSchedule",
    "LinkTargets",
    "MaskedInputs",
    "Means",
    "MultilabelTargets",
    "OutsideBackbone",
    "PairTrees",
    "Progress",
    "Round",
    "Schedule",
    "SeveralTargets",
    "Target",
    "Targets",
    "Taught",
    "Topology",
    "Turns",
    "WeightedTopology",
    "adamic_adar",
    "adjacency_rows",
    "answer_square",
    "apply",
    "as_probabilities",
    "as_rates",
    "best_scale",
    "build_backbone",
    "by_degrees",
    "calibrated",
    "calibration_error",
    "choose_blend",
    "class_evidence",
    "class_shares",
    "clearly_better",
    "column_means",
    "combined_scores",
    "correlation_scores",
    "degree_probabilities",
    "degree_rates",
    "degree_scores",
    "divided_input",
    "edge_operators",
    "estimate_input",
    "expected_error",
    "expected_target",
    "fit",
    "fit_link",
    "fit_links",
    "fit_masked",
    "fit_with_links",
    "jaccard",
    "joined_input",
    "known_rates",
    "learn_means",
    "log_losses",
    "log_rows",
    "masked_inputs",
    "mix",
    "one_thread",
    "page_rank",
    "pair_fisher_scores",
    "pooled_target",
    "printed_target",
    "raw_input",
    "read_tensors",
    "refuse_above",
    "report_input",
    "report_scale",
    "resource_allocation",
    "rounds_input",
    "seeded",
    "signal",
    "smaller_degree",
    "spectrum",
    "spread",
    "teach_by_means",
    "teach_by_rows",
    "tensor",
    "training_labels",
    "true_classes",
    "walk_scores",
    "with_answers",
    "with_known",
]
