"""Which model the rows of a workspace are embedded by: one at a time, so that vectors of two never meet (C14)."""

from collections.abc import Iterable
from dataclasses import dataclass

from memories import embeddings
from memories.embeddings import Provider, Space
from memories.models import EmbeddingModel, Workspace


@dataclass(frozen=True)
class ModelChange:
    """A workspace whose rows are of another model than the first provider's.

    While a provider of the old model is there (`goes_on`), the workspace is searched by that model until the new one's
    vectors are complete. Else its rows are embedded anew where they stand, and found by their words until then.
    """

    workspace: Workspace
    old: EmbeddingModel
    new: EmbeddingModel

    @property
    def goes_on(self) -> bool:
        return _is_served(self.old)


def space_of(model: EmbeddingModel) -> Space:
    return Space(model.name, model.dimension)


def model_of(provider: Provider) -> EmbeddingModel:
    """The row of a provider's model, made when it is first used and kept to what the provider says of it."""
    scale = {"floor": provider.floor, "ceiling": provider.ceiling}
    space = {"name": provider.model, "dimension": provider.dimension}
    model, _made = EmbeddingModel.objects.get_or_create(**space, defaults=scale)
    if any(getattr(model, name) != value for name, value in scale.items()):
        EmbeddingModel.objects.filter(pk=model.pk).update(**scale)
        model.refresh_from_db()
    return model


def stored_model(space: Space) -> EmbeddingModel | None:
    """The row of a model; None: nothing was ever embedded by it."""
    return EmbeddingModel.objects.filter(name=space.model, dimension=space.dimension).first()


def main_model() -> EmbeddingModel | None:
    """The model of the first provider; None: nobody embeds."""
    provider = embeddings.main_provider()
    return model_of(provider) if provider else None


def writing_models(workspaces: Iterable[int] | None = None) -> dict[int, EmbeddingModel | None]:
    """The model by which rows of these workspaces, or of all, are written now; None: nobody embeds."""
    main = main_model()
    rows = Workspace.objects.select_related("index_model")
    if workspaces is not None:
        rows = rows.filter(pk__in=set(workspaces))
    if main is None:
        return dict.fromkeys(rows.values_list("pk", flat=True))
    if unset := [row.pk for row in rows if row.index_model is None]:
        Workspace.objects.filter(pk__in=unset, index_model=None).update(index_model=main)
    return {row.pk: row.index_model if row.index_model and _is_served(row.index_model) else main for row in rows}


def searched_model(workspace_id: int) -> EmbeddingModel | None:
    """The model all rows of a workspace are embedded by, as far as they are; None: nothing is embedded yet."""
    return EmbeddingModel.objects.filter(pk__in=Workspace.objects.filter(pk=workspace_id).values("index_model")).first()


def served_space(model: EmbeddingModel | None) -> Space | None:
    """What questions are embedded by where rows are of this model; None: by the first provider, nobody serves it."""
    return space_of(model) if model and _is_served(model) else None


def changes() -> list[ModelChange]:
    """The workspaces that are to change their model, once an embedder process has begun with the new one."""
    provider = embeddings.main_provider()
    main = stored_model(embeddings.space_of(provider)) if provider else None
    if main is None:
        return []
    behind = Workspace.objects.exclude(index_model=None).exclude(index_model=main).select_related("index_model")
    return [ModelChange(row, row.index_model, main) for row in behind.order_by("pk") if row.index_model]


def _is_served(model: EmbeddingModel) -> bool:
    return bool(embeddings.providers_in(space_of(model)))
