"""Learning: backbones whose input stays sparse, and the loop that trains them.

A module is loaded when one of its names is first used.
"""

# ruff: noqa: F401
from typing import TYPE_CHECKING

from graphveil.lazy import lazy_names

if TYPE_CHECKING:
    from graphveil.learn.attribute_analysis import (
        ANALYSES,
        DenoisedReports,
        KnownLabels,
        combined_scores,
        correlation_scores,
        pair_fisher_scores,
    )
    from graphveil.learn.attributes import (
        SPLITS,
        TargetRound,
        expected_error,
        expected_target,
        pooled_target,
        printed_target,
        signal,
    )
    from graphveil.learn.backbones import (
        APPNP,
        BACKBONES,
        GAT,
        GCN,
        GIN,
        MLP,
        SGC,
        SSGC,
        Backbone,
        CustomBackbone,
        GraphSAGE,
        build_backbone,
    )
    from graphveil.learn.calibration import calibrated, log_losses
    from graphveil.learn.checkpoints import Checkpoints, read_tensors
    from graphveil.learn.class_answers import (
        ClassAnswers,
        JudgedAnswers,
        ValidationUsers,
        class_evidence,
        clearly_better,
        edge_operators,
        log_rows,
        with_answers,
    )
    from graphveil.learn.inputs import (
        before_training,
        divided_input,
        estimate_input,
        joined_input,
        raw_input,
        refuse_above,
        report_input,
        report_scale,
        rounds_input,
        tensor,
    )
    from graphveil.learn.label_models import (
        LabelNetwork,
        MaskedInputs,
        adjacency_rows,
        as_probabilities,
        as_rates,
        choose_blend,
        class_shares,
        degree_probabilities,
        degree_rates,
        fit_link,
        fit_masked,
        known_rates,
        masked_inputs,
        mix,
        spread,
        training_labels,
        with_known,
    )
    from graphveil.learn.link_scores import (
        FEWEST_PAIRS,
        PairTrees,
        adamic_adar,
        by_degrees,
        degree_scores,
        fit_links,
        page_rank,
        resource_allocation,
        smaller_degree,
        spectrum,
        walk_scores,
    )
    from graphveil.learn.public_model import column_means, fit_rows, learn_means, model_of_means
    from graphveil.learn.targets import (
        DropTargets,
        Goal,
        InnerProducts,
        LinkTargets,
        MultilabelTargets,
        SeveralTargets,
        Targets,
        spread_labels,
        true_classes,
    )
    from graphveil.learn.topology import Topology, WeightedTopology
    from graphveil.learn.training import (
        Fitted,
        LinkObjective,
        Progress,
        Schedule,
        Steps,
        apply,
        best_scale,
        finish,
        fit,
        fitting,
        fitting_with_links,
        one_thread,
        seeded,
    )
else:
    __getattr__, __dir__ = lazy_names(__name__, __file__)
