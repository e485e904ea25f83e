"""A cluster of hosts on one machine, faults of its parts, and whether anything was lost. No part of the product."""
