"""Measuring recall: data sets, judged questions of people, and the figures made of them. No part of the product."""
