"""What a score that a search foretells comes to, by what became of such scores in matches.

The worlds of a search are a little too easy for its seat: a model of the opponent's choices does
not see all that makes a hand good, and the seat's own hand was chosen as well as the search can.
Playouts, too, are played less well than matches. So the scores are off, by as much as can be
measured in matches of hints against each other (`python -m lab.search_bench.scores fit`).

A score s moves by (1 - u * u) * (shift + stretch * u), with u = 2 * s - 1: by nothing where the
match is lost or won, by a shift at one half, and away from one half by a stretch. These are the
first terms of a logistic regression of the results on the log odds of the scores, but made of
products and sums, which have the same bits on every machine.

    J. Platt, "Probabilistic Outputs for Support Vector Machines and Comparisons to Regularized
    Likelihood Methods", Advances in Large Margin Classifiers, MIT Press 1999.
"""

from typing import NamedTuple

# Of the sizes of a shift and a stretch together: below it, a higher score stays higher.
LIMIT = 1 / 4


class Calibration(NamedTuple):
    """How to correct the scores of one decision. This one, without a shift, changes nothing."""

    shift: float = 0.0
    stretch: float = 0.0

    def of(self, score: float) -> float:
        """The score that is to be expected where the search foretells this one, from 0 to 1."""
        score = min(max(score, 0.0), 1.0)
        lead = 2 * score - 1
        return score + (1 - lead * lead) * (self.shift + self.stretch * lead)

    def slope(self, score: float) -> float:
        """How many times as far as a score near this one it moves."""
        lead = min(max(2 * score - 1, -1.0), 1.0)
        moved = self.stretch * (1 - 3 * lead * lead) - 2 * self.shift * lead
        return 1 + 2 * moved


NONE = Calibration()
