"""Rules in plain Python: the base class of a game whose rules need no compiler.

    class Rules(PythonGame):
        id = "german_whist"
        abi = 2
        State, View = WhistState, WhistView
        actions = {"play": {"card": 52}}

        def deal(self, state, chance, log): ...

`State` and `View` are subclasses of `ctypes.Structure`, of integers, arrays and structures; the
first field of a `View` is `seat`, a `c_uint8`. The methods get such a structure laid directly over
the bytes of a state or a view, and change it in place. It is only valid during the call.

`actions` are the kinds of actions with their parameters, and how many values each parameter has. An
action is a tuple: ("play", 7), or ("pass",) without parameters.

The methods are those of the contract (engine/game.pxd), by its names. They must depend on nothing
but what they are given and the ruleset, and must not keep it. The search of such a game finds the
same as that of a compiled one, but later: docs/adding-a-game.md says by how much.

Whatever the methods raise becomes a RulesFault of the call. Nothing is changed then.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from engine.python_parts import PythonAspects, PythonPlayout, PythonSampler
from engine.python_rules import PythonRules, parts_of
from engine.python_tools import Chance, Log

Act = tuple[Any, ...]  # An action: its kind and its parameters.

_PARTS = {
    "sampler": PythonSampler,
    "aspects": PythonAspects,
    "playout": PythonPlayout,
}


class PythonGame(PythonRules):
    """A game in plain Python. A subclass may also have these methods:

    `observe(after, joint, seat) -> int`: a key of what a seat saw of a joint action. The default is
    a key of the seat's whole view, which is never wrong but merges nothing: a key of what was
    played in sight lets the search learn more from each iteration.
    `hidden(state, seat) -> {place: cards}`: the indices of the cards at each of the
    `hidden_places`, once for each copy.
    `root_key(state, seat) -> int`: a key of what only the seat knows, for a small game.
    `shuffle_unseen(state, chance)`: draws again what lies in an order that nobody has seen, such as
    a draw pile. A game that has it sets `unseen_order`.
    `check_view(view)`: raises ViewError for a view that contradicts itself. It is called once for
    each view, before `draw`. If it returns what it inferred, `draw` gets that as a fourth argument.
    `choose(state, seat, chance) -> action`: the action of a playout that plays sensibly.
    `stage(state) -> int` and `estimate(state) -> (score, draw)`: where a playout may end, and the
    expected score of seat 0 with the probability of a draw there (engine/playout_policy.pxd).
    `follow(begin, now, seat) -> values`: the values of `aspects`, in their order, once they are
    known in a state `now` that has followed from `begin`, where the seat decided; None before. A
    match that is over has them. It is called after each decision (engine/aspects.pxd).
    """

    State: ClassVar[Any] = None
    View: ClassVar[Any] = None
    actions: ClassVar[Mapping[str, Mapping[str, int]]] = {}
    aspects: ClassVar[Mapping[str, str]] = {}  # By name: "chance" or "amount"; see `follow`.

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.id:
            parts_of(cls)  # Raises TypeError if the structures or the actions cannot be used.

    def stand_in(self, name: str) -> Any:
        return _PARTS.get(name)

    def deal(self, state: Any, chance: Chance, log: Log) -> None:
        """Deals a new match into a state that is all 0, and plays on to the first decision."""
        raise NotImplementedError

    def deciders(self, state: Any) -> Iterable[int]:
        """Returns the seats that must decide now: none when the match is over."""
        raise NotImplementedError

    def legal(self, state: Any, seat: int) -> Iterable[Act]:
        """Returns the legal actions of a seat that must decide, in any order.

        They depend on nothing that the seat does not know.
        """
        raise NotImplementedError

    def apply(self, state: Any, joint: dict[int, Act], chance: Chance, log: Log) -> None:
        """Applies the actions of all deciders, by seat, and plays on to the next decision."""
        raise NotImplementedError

    def outcome(self, state: Any, seat: int) -> float:
        """Returns the score of a seat when the match is over: 1 for a win, 0.5 for a draw."""
        raise NotImplementedError

    def view(self, state: Any, seat: int, view: Any) -> None:
        """Fills in what a viewer (0, 1 or SPECTATOR) knows. All is 0 but `seat`, which is set."""
        raise NotImplementedError

    def draw(self, view: Any, state: Any, chance: Chance, *inferred: Any) -> None:
        """Draws a world into a state that is all 0: a state that has shown the seat this view.

        Each is drawn in proportion to its probability if the opponent has chosen uniformly among
        its legal actions. Raises ViewError if there is none. A module `sampler` in the folder of
        the game, with a compiled Sampler, replaces this.
        """
        raise NotImplementedError
