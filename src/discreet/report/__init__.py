"""Pictures and pages: charts of plain numbers, and the report of releases that is made of them."""

from discreet.report import plots
from discreet.report.charts import held_out_curves, profile_bars, save, state_map, tiles
from discreet.report.page import report, report_pages

__all__ = ["held_out_curves", "plots", "profile_bars", "report", "report_pages", "save", "state_map", "tiles"]
