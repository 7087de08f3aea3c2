"""The two event logs in place of the paper's, which were leaked and are no part of the project: one row an event.

Fatal crashes by census division or state, traffic stops by patrol district: a region, a month, five fields of levels.
Without the files a made-up log of the same shape is used, with two known states.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.models import EventLogHMM
from discreet.schema import Categorical, Schema
from discreet.sources import Dataset
from discreet.sources.open import open_dataset
from discreet.studies.paper_tables import PaperTables
from discreet.studies.synthetic_event_log import synthetic_event_log

__all__ = ["CRASHES", "CRASHES_BY_STATE", "STOPS", "Log", "OpenedLog"]

WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


@dataclass(frozen=True)
class OpenedLog:
    """A log with its levels declared, and whether it is made up."""

    title: str
    dataset: Dataset
    region: str
    fields: tuple[str, ...]
    synthetic: bool

    def model(self, states: int) -> EventLogHMM:
        """The hidden Markov model of this log; one state is naive Bayes."""
        return EventLogHMM(self.region, "month", self.fields, states=states)


@dataclass(frozen=True)
class Log:
    """One event log as a study reads it, and the shape of a made-up one."""

    name: str
    title: str
    file: str
    region: str
    fields: tuple[str, ...]
    shape: tuple[int, int]
    levels: tuple[int, ...]
    median: float
    last_month: str = "9999-12"

    def opened(self, tables: PaperTables) -> OpenedLog:
        """The rows up to the last complete month, with levels that are public knowledge."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        found = tables.file(self.file)
        if found is None:
            regions, months = self.shape
            made = synthetic_event_log(regions, months, self.levels, median=self.median, seed=5)
            return OpenedLog(
                f"made-up log like {self.title}",
                open_dataset(made.table, made.schema, id=self.name),
                "region",
                tuple(made.profiles),
                synthetic=True,
            )
        table = pq.read_table(found, columns=[self.region, "month", *self.fields])
        table = table.filter(pc.less_equal(table["month"].cast(pa.string()), self.last_month))
        levels: dict[str, Sequence[str]] = {
            name: sorted(map(str, table[name].unique().to_pylist())) for name in table.column_names
        }
        levels |= {"weekday": WEEKDAYS} if "weekday" in levels else {}
        schema = Schema({name: Categorical(of) for name, of in levels.items()})
        return OpenedLog(
            self.title, open_dataset(table, schema, id=self.name), self.region, self.fields, synthetic=False
        )


# `category` refines `type`, and `violation_detail` refines `violation`: a model of both would count evidence twice
_CRASH_FIELDS = ("type", "light", "weather", "drunk_driver", "multiple_deaths")
_STOP_FIELDS = ("violation", "driver_gender", "driver_race", "driver_age_band", "weekday")
_CRASH_FILE, _STOP_FILE = "fars_crashes_2013_2015.parquet", "ms_traffic_stops_2013_2016.parquet"

CRASHES = Log(
    "crashes", "fatal crashes, 9 divisions", _CRASH_FILE, "region", _CRASH_FIELDS, (9, 36), (6, 5, 6, 2, 2), 250.0
)
CRASHES_BY_STATE = Log(
    "crashes-states", "fatal crashes, 51 states", _CRASH_FILE, "state", _CRASH_FIELDS, (51, 36), (6, 5, 6, 2, 2), 35.0
)
STOPS = Log(
    "stops",
    "traffic stops, 9 districts",
    _STOP_FILE,
    "region",
    _STOP_FIELDS,
    (9, 41),
    (6, 3, 3, 8, 7),
    560.0,
    last_month="2016-05",
)
