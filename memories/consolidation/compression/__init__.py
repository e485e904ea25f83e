"""Fewer and better facts: days become facts, facts that say the same become one, the best become a profile (D6).

A model judges; rules and the safety limit decide what of that is applied without a person. What the model does not name
is kept, and nothing is deleted: merged and dropped facts are archived, with a link, in a batch that can be undone.
"""

from memories.consolidation.compression.daily import compress_days, days_to_compress
from memories.consolidation.compression.weekly import compress_facts, count_facts, propose_on

__all__ = ["compress_days", "compress_facts", "count_facts", "days_to_compress", "propose_on"]
