"""An alias: `from discreet.audit import worst_pair` reads `discreet.auditing`; `dc.audit` is the function."""

from discreet.auditing import *  # noqa: F403
from discreet.auditing import __all__  # noqa: F401
