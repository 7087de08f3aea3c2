"""A guarantee in a notebook: its words, what it rests on, and what it lets a suspicion become."""

from typing import Any

from discreet.visible import Told

__all__ = ["ToldGuarantee"]

DELTA = 1e-6


class ToldGuarantee(Told):
    """What every guarantee shows of itself."""

    def _told(self: Any) -> tuple[str, list[tuple[str, str]]]:
        from discreet.guarantee.suspicion import suspicion

        basis = self.basis
        change = "replaced" if basis.relation == "replace-one" else "added or removed"
        lines = [("promises", self.words()), ("between", f"tables that differ in one {basis.unit}, {change}")]
        lines += [(name, said) for name, said in (("theorem", basis.theorem), ("sampler", basis.sampler)) if said]
        lines.append(("in short", suspicion(self).words))
        return repr(self), lines
