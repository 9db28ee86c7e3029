"""What a method that trains can be set to, and what a search tries."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphveil.errors import InputError

# What a setting says that leaves the choice open.
AUTO: Final = "auto"
# The backbones that a method can be asked for by name (graphveil.learn.BACKBONES holds them).
BACKBONE_NAMES = ("gcn", "sage", "gat", "gin", "appnp", "sgc", "ssgc", "mlp")
# All that UPGNET, PPGNN and TOGL search in training, put together: each has powers of ten of its own, PPGNN the larger
# dropouts, PPGNN and TOGL no dropout and no weight decay. PPGNN's learning rate of 0 is left out: it learns nothing.
TRAINING_GRID: dict[str, tuple[Any, ...]] = {
    "lr": (1e-4, 1e-3, 1e-2, 1e-1),
    "weight_decay": (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
    "dropout": (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 0.25, 0.5, 0.75),
}
# What methods that average over hops search besides: UPGNET's, of which PPGNN takes those up to 16.
HOPS_GRID: dict[str, tuple[Any, ...]] = {"hops": (0, 2, 4, 8, 16, 32, 64)}
# What is searched besides where labels are private.
LABEL_GRID: dict[str, tuple[Any, ...]] = {"drop_hops": (2, 4, 8, 16, 32)}
# What is searched besides where users choose a privacy level: PPGNN's γ, an option of its mechanisms.
LEVEL_GRID: dict[str, tuple[Any, ...]] = {"mechanism.gamma": (0.1, 0.3, 0.5, 0.7, 0.9)}


class Settings(BaseModel):
    """What every method that trains a backbone can be set to."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    epochs: int = Field(500, ge=1, description="epochs at most")
    lr: float = Field(0.01, gt=0, description="learning rate of Adam")
    weight_decay: float = Field(1e-3, ge=0, description="weight decay of Adam")
    patience: int | None = Field(
        None, ge=1, description="stop after so many epochs without a lower validation loss"
    )
    hidden: int = Field(16, ge=1, description="columns of the hidden layer")
    dropout: float = Field(0.5, ge=0, lt=1, description="dropout before the second layer")
    activation: Literal["selu", "relu"] = Field("selu", description="selu or relu")
    label_loss: Literal["drop", "forward", "plain"] = Field(
        "drop",
        description="how to learn from private labels: drop (propagated, corrected), forward (corrected), plain",
    )
    drop_hops: int = Field(
        8, ge=0, description="how many hops private labels are propagated before they are learned"
    )

    @classmethod
    def of(cls, given: dict[str, Any] | None) -> Settings:
        """Settings from given values, or an error that names the wrong one and the choices."""
        try:
            return cls(**(given or {}))
        except ValidationError as error:
            problems = error.errors(include_url=False)
            problem = problems[0]
            choices = [other for other in problems if other["loc"][:1] == problem["loc"][:1]]
            # A setting that may be one of several kinds has a problem with each of them.
            several = len(choices) > 1 and all(isinstance(other["loc"][-1], str) for other in choices)
            key = ".".join(str(step) for step in problem["loc"][: 1 if several else None])
            if problem["type"] == "extra_forbidden":
                raise InputError(
                    f"there is no setting {key!r} here: choose from {', '.join(cls.model_fields)}"
                ) from None
            message = problem["msg"]
            if several:
                kinds = [other["msg"].split(",")[0].removeprefix("Input should be ") for other in choices]
                message = f"Input should be {', or '.join(kinds)}"
            raise InputError(f"setting {key}: {message}, got {problem['input']!r}") from None


class ScaledSettings(Settings):
    """Training of a network on reports, and the scale of its input."""

    # The smallest share that is tried, by which nothing is learned by heart on graphs with few reports a feature.
    least_share: ClassVar[float] = 1 / 8

    input_share: Annotated[float, Field(gt=0)] | Literal["auto"] = Field(
        "auto",
        description="expected norm of an input row, as a share of the root of the number of features; auto: 1/8, 2 or 8, "
        "whichever has the lowest validation loss",
    )

    @property
    def share(self) -> float:
        """The share that an input is made with."""
        return self.least_share if self.input_share == AUTO else self.input_share
