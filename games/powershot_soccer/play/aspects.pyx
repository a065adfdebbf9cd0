"""What follows from a card in PowerShot Soccer, up to the end of the attack."""

from engine.aspects cimport Aspects
from engine.game cimport State
from games.powershot_soccer.rules.state cimport OVER, Common, SoccerState

from engine.aspects import CHANCE

cdef enum:
    GOAL = 0
    CONCEDED
    BALL_WON
    BALL_LOST


cdef class PowerShotSoccerAspects(Aspects):
    """Whether the attack ends in a goal, and who has the ball then."""

    units = {"goal": CHANCE, "conceded": CHANCE, "ball_won": CHANCE, "ball_lost": CHANCE}

    cdef bint follow(self, const State* begin, const State* now, int seat,
                     double* values) noexcept nogil:
        # A goal gives the ball to the other seat, and a half ends without anybody winning it.
        cdef const Common* before = &(<const SoccerState*> begin).common
        cdef const Common* after = &(<const SoccerState*> now).common
        cdef bint mine = before.possession == seat
        if after.goals[before.possession] > before.goals[before.possession]:
            values[GOAL if mine else CONCEDED] = 1
        elif after.half != before.half or after.phase == OVER:
            pass
        elif after.possession != before.possession:
            values[BALL_LOST if mine else BALL_WON] = 1
        elif after.attack_start == before.attack_start:
            return False
        return True
