"""Embedding models and the cache of what they said."""

from django.db import models
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField


class EmbeddingModel(models.Model):
    """A model whose vectors may be compared with each other, and what its cosines mean.

    `floor` is the cosine of unrelated texts, `ceiling` that of the same text: between them similarity runs from 0 to 1.
    """

    name = models.CharField(_("name"), max_length=200, unique=True)
    dimension = models.PositiveIntegerField(_("dimension"))
    floor = models.FloatField(_("floor"), default=0.0)
    ceiling = models.FloatField(_("ceiling"), default=1.0)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("embedding model")
        verbose_name_plural = _("embedding models")
        constraints = [
            models.CheckConstraint(condition=models.Q(dimension__gt=0), name="embeddingmodel_has_dimensions"),
            models.CheckConstraint(
                condition=models.Q(floor__lt=models.F("ceiling")), name="embeddingmodel_floor_below_ceiling"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class EmbeddingCache(models.Model):
    """What a provider answered for a text, found by the text's hash; holds no text."""

    provider = models.CharField(max_length=200)
    model = models.CharField(max_length=200)
    text_hash = models.CharField(max_length=64)
    embedding = HalfVectorField()
    used_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("cached embedding")
        verbose_name_plural = _("embedding cache")
        constraints = [
            models.UniqueConstraint(fields=["provider", "model", "text_hash"], name="embeddingcache_once_a_text"),
        ]
        indexes = [models.Index(fields=["used_at"], name="embeddingcache_by_use")]

    def __str__(self) -> str:
        return f"{self.model}: {self.text_hash[:12]}"
