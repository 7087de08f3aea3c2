"""Where private rows live, and the exact integer statistics that may be asked of them."""

from discreet.sources.coded import CodedRows
from discreet.sources.dataset import Dataset, Source
from discreet.sources.open import open_dataset as open  # noqa: A004

__all__ = ["CodedRows", "Dataset", "Source", "open"]
