"""Learning: backbones whose input stays sparse, and the loop that trains them.

A module is loaded when one of its names is first used.
"""

# ruff: noqa: I001 -- names that are exported stand with their modules
from typing import TYPE_CHECKING

from graphveil.lazy import lazy_names

if TYPE_CHECKING:
    from graphveil.learn.class_answers import (
        Asked as Asked,
        Judged as Judged,
        class_evidence as class_evidence,
    )
    from graphveil.learn.class_answers import (
        Answered as Answered,
        Judges as Judges,
        clearly_better as clearly_better,
        edge_operators as edge_operators,
        log_rows as log_rows,
        with_answers as with_answers,
    )
    from graphveil.learn.attribute_analysis import ANALYSES as ANALYSES, combined_scores as combined_scores
    from graphveil.learn.backbones import (
        APPNP as APPNP,
        GAT as GAT,
        GCN as GCN,
        GIN as GIN,
        MLP as MLP,
        SGC as SGC,
        SSGC as SSGC,
        Backbone as Backbone,
        GraphSAGE as GraphSAGE,
    )
    from graphveil.learn.label_propagation import choose_blend as choose_blend, mix as mix
    from graphveil.learn.calibration import (
        calibrated as calibrated,
        calibration_error as calibration_error,
        log_losses as log_losses,
    )
    from graphveil.learn.checkpoints import Checkpoints as Checkpoints
    from graphveil.learn.label_propagation import degree_probabilities as degree_probabilities
    from graphveil.learn.attribute_analysis import Denoised as Denoised
    from graphveil.learn.inputs import divided_input as divided_input, joined_input as joined_input
    from graphveil.learn.hadamard import LinkSchedule as LinkSchedule, fit_links as fit_links
    from graphveil.learn.inputs import (
        estimate_input as estimate_input,
        raw_input as raw_input,
        refuse_above as refuse_above,
        report_input as report_input,
        report_scale as report_scale,
    )
    from graphveil.learn.attribute_analysis import Known as Known
    from graphveil.learn.label_propagation import (
        as_probabilities as as_probabilities,
        class_shares as class_shares,
        spread as spread,
        training_labels as training_labels,
    )
    from graphveil.learn.label_propagation import (
        as_rates as as_rates,
        degree_rates as degree_rates,
        known_rates as known_rates,
        with_known as with_known,
    )
    from graphveil.learn.link_scores import (
        adamic_adar as adamic_adar,
        by_degrees as by_degrees,
        degree_scores as degree_scores,
        page_rank as page_rank,
        resource_allocation as resource_allocation,
        smaller_degree as smaller_degree,
        walk_scores as walk_scores,
    )
    from graphveil.learn.masked_labels import (
        LinkModel as LinkModel,
        adjacency_rows as adjacency_rows,
        fit_link as fit_link,
    )
    from graphveil.learn.targets import InnerProducts as InnerProducts, LinkTargets as LinkTargets
    from graphveil.learn.masked_labels import (
        LabelNetwork as LabelNetwork,
        MaskedInputs as MaskedInputs,
        fit_masked as fit_masked,
        masked_inputs as masked_inputs,
    )
    from graphveil.learn.attribute_analysis import (
        correlation_scores as correlation_scores,
        pair_fisher_scores as pair_fisher_scores,
    )
    from graphveil.learn.targets import MultilabelTargets as MultilabelTargets
    from graphveil.learn.registry import OutsideBackbone as OutsideBackbone
    from graphveil.learn.link_scores import FEWEST_PAIRS as FEWEST_PAIRS, PairTrees as PairTrees
    from graphveil.learn.training import one_thread as one_thread, seeded as seeded
    from graphveil.learn.ranking import Ranking as Ranking, jaccard as jaccard
    from graphveil.learn.registry import BACKBONES as BACKBONES, build_backbone as build_backbone
    from graphveil.learn.inputs import answer_square as answer_square, rounds_input as rounds_input
    from graphveil.learn.training import best_scale as best_scale
    from graphveil.learn.targets import SeveralTargets as SeveralTargets
    from graphveil.learn.spectral import spectrum as spectrum
    from graphveil.learn.targeting import (
        SPLITS as SPLITS,
        Round as Round,
        Target as Target,
        expected_error as expected_error,
        expected_target as expected_target,
        pooled_target as pooled_target,
        printed_target as printed_target,
        signal as signal,
    )
    from graphveil.learn.targets import (
        DropTargets as DropTargets,
        Goal as Goal,
        Targets as Targets,
        true_classes as true_classes,
    )
    from graphveil.learn.public_model import (
        Means as Means,
        Taught as Taught,
        column_means as column_means,
        learn_means as learn_means,
        teach_by_means as teach_by_means,
        teach_by_rows as teach_by_rows,
    )
    from graphveil.learn.checkpoints import read_tensors as read_tensors
    from graphveil.learn.inputs import tensor as tensor
    from graphveil.learn.topology import Topology as Topology
    from graphveil.learn.training import (
        Fitted as Fitted,
        Progress as Progress,
        Schedule as Schedule,
        apply as apply,
        fit as fit,
    )
    from graphveil.learn.weighted import (
        LinkObjective as LinkObjective,
        Turns as Turns,
        WeightedTopology as WeightedTopology,
        fit_with_links as fit_with_links,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
