"""A learner of a best response: a fixed opponent, what is fitted to what, and an honest bound."""

import json
import sys

import pytest

from engine import games
from engine.model import Model, learned
from lab.players import LEARNED
from lab.training import response, self_play, training
from lab.training.response import Response
from lab.training.state import StateError
from tests.lab import held
from tests.lab.held import files, ignore
from tests.support.commands import croupier
from tests.support.interrupting import Interrupted, Interrupting
from tests.support.models import random_model

# Its gates have the limit of the iterations.
SETTINGS = held.SETTINGS._replace(
    generations=2, matches=4, iterations=10, policy_matches=0, gate_limit=""
)
TRAIN = ["train", "skystones", "--against", "served"]
OPTIONS = ["--seed", "3", "--matches", "4", "--iterations", "10", "--uses", "beliefs,value"]
OPTIONS += ["--gate-games", "4", "--workers", "2"]
LOST, WON = "[0.0,0.5]\n", "[1.0,0.5]\n"


def record_gates(folder, gates, generations=1):
    """Lets gates have been played with these pairs."""
    for generation in range(1, generations + 1):
        (folder / f"generation-{generation}").mkdir()
        for name, line in gates.items():
            (folder / f"generation-{generation}" / f"{name}.jsonl").write_text(2 * line)


@pytest.fixture
def game():
    return games()["skystones"]()


@pytest.fixture(scope="module")
def played():
    """The gates of the training that was not interrupted, as the arena was asked for them."""
    return []


@pytest.fixture(scope="module")
def trained(tmp_path_factory, played):
    """The folder of a training that was not interrupted, and its model."""
    folder = tmp_path_factory.mktemp("trained")
    run = training.arena.run

    def record(pairing, **options):
        played.append((pairing.first.text, pairing.second.text, options["seed"]))
        return run(pairing, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training.arena, "run", record)
        return folder, Response(SETTINGS, folder, 1, ignore).run()


# Matches


def test_the_opponent_plays_by_the_served_model_and_the_learner_by_its_own(
    game, tmp_path, monkeypatch
):
    path = tmp_path / "model.json"
    path.write_text(random_model(game, 1).write())
    asked = []
    search = self_play.search

    def record(view, **options):
        asked.append((view.seat, options["model"].name, options["iterations"]))
        return search(view, **options)

    monkeypatch.setattr(self_play, "search", record)
    names = {Model.read(path, game).name: True, learned(game).name: False}
    found = set()
    for number in range(4):
        asked.clear()
        self_play.play(self_play.Task("skystones", 1, number, 5, str(path), True))
        seat = self_play.learner(number)
        told = {(one == seat, names[name], n) for one, name, n in asked}
        assert told == {(True, True, 5), (False, False, 5)}
        found.add((seat, self_play.is_clean(number)))
    assert len(found) == 4  # The learner has each seat, with slips and without.


def test_only_the_learner_slips_and_both_answers_are_recorded(game, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(random_model(game, 1).write())
    slips, answers = {True: 0, False: 0}, {True: 0, False: 0}
    for number in (1, 3, 5, 7):
        match = self_play.play(self_play.Task("skystones", 1, number, 5, str(path), True))
        seat = self_play.learner(number)
        for step in match["steps"]:
            joint = dict(step["joint"])
            for one, answer in step["answers"]:
                slips[one == seat] += joint[one] not in dict(answer)
                answers[one == seat] += 1
        of_served = self_play.of_served(match)
        assert {one for step in of_served["steps"] for one, _ in step["answers"]} == {1 - seat}
        few, all_of = (sum(len(step["answers"]) for step in m["steps"]) for m in (of_served, match))
        assert few < all_of
    assert slips[True] > 0 == slips[False] and min(answers.values()) > 50


# Trainings


def test_the_same_seed_gives_the_same_learner_in_processes(trained, tmp_path):
    folder, model = trained
    assert Response(SETTINGS, tmp_path, 2, ignore).run().write() == model.write()
    assert files(tmp_path) == files(folder)
    other = Response(SETTINGS._replace(seed=4, generations=1), tmp_path / "other", 1, ignore).run()
    assert other.provenance["gates"] != model.provenance["gates"][:2]


@pytest.mark.parametrize("after", [3, 7, 15])
def test_an_interrupted_training_goes_on_where_it_was(trained, tmp_path, after):
    interrupt = Interrupting(after)
    with pytest.raises(Interrupted):
        Response(SETTINGS, tmp_path, 1, interrupt).run()
    later = []
    found = Response(SETTINGS, tmp_path, 1, later.append).run()
    assert found.write() == trained[1].write()
    assert files(tmp_path) == files(trained[0])
    # The fit that was told of and not written is all that is done twice.
    assert after + len(later) - ("fitting" in interrupt.told[-1]) == 2 * (4 + 2 + 4) + 2


def test_a_folder_of_another_opponent_is_refused(trained, game, monkeypatch):
    monkeypatch.setattr(response, "learned", lambda _: random_model(game, 2))
    with pytest.raises(StateError, match="was begun with against"):
        Response(SETTINGS, trained[0], 1, ignore)
    monkeypatch.setattr(response, "learned", lambda _: None)
    with pytest.raises(ValueError, match="skystones has no model that is served"):
        Response(SETTINGS, trained[0], 1, ignore)


@pytest.mark.parametrize("kept", SETTINGS.uses)
def test_what_gains_in_its_gate_is_kept_and_measured_in_other_matches(game, tmp_path, kept):
    # By pairs that were recorded before.
    lines = {use: WON if use == kept else LOST for use in SETTINGS.uses}
    record_gates(tmp_path, {f"gate-{use}": line for use, line in lines.items()} | {"gain": LOST})
    found = Response(SETTINGS._replace(generations=1), tmp_path, 1, ignore).run()
    served = learned(game)
    assert (found.weights != served.weights) == (kept == "beliefs")
    assert (found.net != served.net) == (kept == "value")
    gates = found.provenance["gates"]
    assert [(each["use"], each["points"][0]) for each in gates] == [
        (use, 25.0 if use == kept else -25.0) for use in SETTINGS.uses
    ]
    assert [each["seed"] for each in gates] == [3, 3]
    against = found.provenance["against"]
    assert (against["model"], against["matches"], against["seed"]) == (served.name, 4, 4)
    assert against["games"] == [0, 2, 2] and against["points"][0] == -25.0


def test_the_net_goes_on_from_that_of_the_opponent(trained, game):
    # So much of it stays that six matches do not change any weight by much.
    before = learned(game).net
    after = json.loads((trained[0] / "generation-1" / "net.json").read_text())["layers"]
    assert after != before
    for name, layer in before.items():
        moved = [abs(a - b) for a, b in zip(layer, after[name], strict=True)]
        assert max(moved) < 0.05 * training.values.SCALES[name], name


def test_policies_learn_from_the_opponent_alone_where_they_tell_its_cards(tmp_path):
    settings = SETTINGS._replace(
        game_id="powershot_soccer", generations=1, uses=("beliefs", "playouts")
    )
    Response(settings, tmp_path, 1, ignore).run()
    of_served, of_both = (
        json.loads((tmp_path / "generation-1" / f"fit-{use}.json").read_text())["losses"]["attack"]
        for use in settings.uses
    )
    assert 0 < of_served["decisions"] < 0.7 * of_both["decisions"]


def test_a_learner_that_keeps_nothing_gains_exactly_nothing(game, tmp_path):
    record_gates(tmp_path, {"gate-beliefs": LOST, "gate-value": LOST}, generations=2)
    found = Response(SETTINGS, tmp_path, 1, ignore).run()
    assert found.name == learned(game).name
    assert found.provenance["against"]["points"][0] == 0
    pairs = (tmp_path / "generation-2" / "gain.jsonl").read_text().split()
    assert {*pairs} <= {"[0.5,0.5]", "[0.0,1.0]", "[1.0,0.0]"}


def test_gates_are_against_the_search_as_it_is_served(trained, played):
    limit = f"search:iterations={SETTINGS.iterations}"
    assert played == [
        (f"{limit},model={trained[0] / name}.json", f"{limit},model={LEARNED}", seed)
        for name, seed in (
            ("generation-1/gate-beliefs", 3),
            ("generation-1/gate-value", 3),
            ("generation-2/gate-beliefs", 3),
            ("generation-2/gate-value", 3),
            ("generation-2/gain", 4),
        )
    ]


def test_a_learner_finds_out_what_an_opponent_gets_wrong(monkeypatch, tmp_path):
    # It takes likely choices for unlikely ones.
    game = games()["castle_rampage"]()
    model = learned(game)
    weights = {
        kind: {name: -weight for name, weight in named.items()}
        for kind, named in model.weights.items()
    }
    wrong = Model(game, weights, model.uses, net=model.net)
    for module in (response, self_play, sys.modules["lab.players"]):
        monkeypatch.setattr(module, "learned", lambda _: wrong)
    settings = SETTINGS._replace(game_id="castle_rampage", generations=1, uses=("playouts",))
    settings = settings._replace(matches=50, iterations=20, gate_games=60)
    found = Response(settings, tmp_path, 1, ignore).run()
    assert found.provenance["against"]["points"][1] > 10


# The command


def test_the_command_tells_the_bound(trained, tmp_path):
    ended = croupier(*TRAIN, *OPTIONS, "--folder", tmp_path)
    assert ended.status == 0
    told = ended.out
    assert files(tmp_path) == files(trained[0])
    model = Model.read(tmp_path / "weights.json", games()["skystones"]())
    assert model.provenance == trained[1].provenance
    points = model.provenance["against"]["points"]
    assert f"A learner of 8 matches gains {points[0]:+.1f} points" in told
    assert "LOWER bound" in told and "generation 2, value: " in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--from", "weights.json"], "--from does not go with --against served"),
        (["--policy-matches", "0"], "--policy-matches does not go with --against served"),
        (["--gate", "ms=5"], "--gate does not go with --against served"),
        (["--sprt", "0,5"], "--sprt does not go with --against served"),
        (["--uses", "magic"], "magic is no use of a model of skystones"),
        (["--against", "expert"], "invalid choice: 'expert'"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, options, said):
    few = ("--matches", "1", "--iterations", "1", "--gate-games", "2", "--workers", "1")
    ended = croupier(*TRAIN, *few, *options, "--folder", tmp_path)
    assert ended.status == 2 and said in ended.err
