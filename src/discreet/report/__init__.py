"""Pictures of posteriors: charts that the report and the studies share."""

from discreet.report.charts import held_out_curves, profile_bars, save, state_map, tiles

__all__ = ["held_out_curves", "profile_bars", "save", "state_map", "tiles"]
