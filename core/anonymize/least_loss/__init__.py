"""Least-loss k^m-anonymity: merge, suppress or split, whichever costs least (``least_loss.md``)."""

from core.anonymize.least_loss.anonymize import LeastLossOptions, least_loss
from core.anonymize.least_loss.prices import Prices, whole_window_m, window_loss_m

__all__ = ["LeastLossOptions", "Prices", "least_loss", "whole_window_m", "window_loss_m"]
