"""Training: the same weights from the same seed, interrupted or not, and gates that decide."""

import json
import math
import signal

import numpy as np
import pytest

from engine import games
from engine.features import SCALE, Features
from engine.model import Model
from engine.position import Position
from lab.training import policies, self_play, training
from lab.training.policies import Choices
from lab.training.state import State, StateError
from lab.training.training import Training
from tests.lab.held import SETTINGS, files, ignore, interrupted
from tests.support.commands import croupier
from tests.support.interrupting import Interrupted, Interrupting

TRAIN = (
    *("train", "skystones", "--seed", "3", "--matches", "10", "--iterations", "20"),
    *("--policy-matches", "30", "--uses", "beliefs,value", "--gate", "iterations=5"),
    *("--gate-games", "4", "--generations", "1", "--workers", "2"),
)
FIRST = "generation-1"


def copy(folder, to, names=("settings.json", "matches.jsonl", "fit.json", "net.json")):
    """Copies what is done but for the gates; returns the folder of the generation."""
    (to / FIRST).mkdir(exist_ok=True)
    for name in names:
        (to / FIRST / name).write_text((folder / FIRST / name).read_text())
    return to / FIRST


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a training that was not interrupted."""
    folder = tmp_path_factory.mktemp("trained")
    assert Training(SETTINGS, folder, 1, ignore).run() is None  # Four games prove nothing.
    return folder


def test_the_same_seed_gives_the_same_weights_in_processes(trained, tmp_path):
    Training(SETTINGS, tmp_path, 2, ignore).run()
    found, expected = files(tmp_path), files(trained)
    # It names the folder of the candidate, in which alone it differs.
    assert found == expected
    other = tmp_path / "other"
    Training(SETTINGS._replace(seed=4), other, 1, ignore).run()
    assert files(other)[f"{FIRST}/candidate.json"] != expected[f"{FIRST}/candidate.json"]


@pytest.mark.parametrize("after", [1, 5, 10, 11, 12, 14])
def test_an_interrupted_training_goes_on_where_it_was(trained, tmp_path, after):
    with pytest.raises(Interrupted):
        Training(SETTINGS, tmp_path, 1, Interrupting(after)).run()
    played = len((tmp_path / FIRST / "matches.jsonl").read_text().splitlines())
    with (tmp_path / FIRST / "matches.jsonl").open("a") as file:
        file.write('{"match": 99, "de')  # A line that was cut off.
    later = []
    Training(SETTINGS, tmp_path, 1, later.append).run()
    assert files(tmp_path) == files(trained)
    assert sum(": match " in text for text in later) == SETTINGS.matches - played


def test_a_folder_of_another_training_is_refused(trained):
    with pytest.raises(StateError, match="was begun with iterations 20, not 21"):
        Training(SETTINGS._replace(iterations=21), trained, 1, ignore)
    Training(SETTINGS._replace(gate_games=2), trained, 1, ignore).run()  # More or fewer games.


def test_a_file_that_is_no_document_is_refused(tmp_path):
    (tmp_path / "settings.json").write_text("{")
    with pytest.raises(StateError, match=r"settings\.json"):
        State(tmp_path, {})


def test_uses_that_pass_their_gates_make_a_model(trained, tmp_path):
    # Pairs that were recorded before are counted: by these, one use passes and the other does not.
    folder = copy(trained, tmp_path)
    (folder / "gate-beliefs.jsonl").write_text("[1.0,0.5]\n" * 200)
    (folder / "gate-value.jsonl").write_text("[0.0,0.5]\n" * 200)
    found = Training(SETTINGS, tmp_path, 1, ignore).run()
    assert found is not None and found.uses == ("beliefs",)
    first, second = found.provenance["gates"]
    assert (first["verdict"], first["against"], first["games"]) == ("elo1", [], [200, 200, 0])
    told = second["verdict"], second["against"], second["games"]
    assert told == ("elo0", ["beliefs"], [0, 200, 200])
    path = tmp_path / "weights.json"
    path.write_text(found.write())
    assert Model.read(path, games()["skystones"]()).name == found.name
    assert json.loads(path.read_text())["provenance"]["losses"]["pick"]["decisions"] > 100


def test_gates_do_not_depend_on_the_model_that_the_game_has(trained, tmp_path, monkeypatch):
    played = []
    run = training.arena.run

    def record(pairing, **options):
        played.append([each.text for each in pairing[1:]])
        return run(pairing, **options)

    monkeypatch.setattr(training.arena, "run", record)
    folder = copy(trained, tmp_path)
    Training(SETTINGS, tmp_path, 1, ignore).run()
    candidate = f"search:iterations=5,model={folder / 'candidate.json'}"
    assert played == [
        [f"{candidate},uses={use}", "search:iterations=5,model=none"] for use in SETTINGS.uses
    ]


def test_the_command_is_interrupted_and_continued(trained, tmp_path):
    command = (*TRAIN, "--folder", str(tmp_path))
    line, status, told = interrupted(signal.SIGTERM, *command)
    assert line.startswith("generation 1: match 1 of 10")
    assert status == 130, told
    assert "the same command continues" in told
    ended = croupier(*command)
    assert ended.status == 1 and "no use has passed" in ended.out
    assert files(tmp_path) == files(trained)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["kuhn_poker"], "kuhn_poker is no game that can be trained"),
        (["skystones", "--uses", "magic"], "magic is no use of a model of skystones"),
        (["skystones", "--gate", "games=3"], "games is no option of search"),
    ],
)
def test_what_cannot_be_trained_is_refused(tmp_path, options, said):
    few = ("--matches", "1", "--iterations", "1", "--workers", "1")
    ended = croupier("train", *options, *few, "--folder", tmp_path)
    assert ended.status == 2 and said in ended.err


def test_a_later_generation_plays_by_the_model_and_renews_its_net(trained, tmp_path, monkeypatch):
    # By pairs that were recorded before, both uses pass, and so does the net of the second.
    for generation in (1, 2):
        folder = tmp_path / f"generation-{generation}"
        folder.mkdir()
        for use in SETTINGS.uses:
            (folder / f"gate-{use}.jsonl").write_text("[1.0,0.5]\n" * 200)
    copy(trained, tmp_path, ("matches.jsonl", "fit.json", "net.json"))
    tasks = []
    play = self_play.play

    def record(task):
        tasks.append(task)
        return play(task)

    monkeypatch.setattr(training.self_play, "play", record)
    found = Training(SETTINGS._replace(generations=2), tmp_path, 1, ignore).run()
    second = tmp_path / "generation-2"
    game = games()["skystones"]()
    first = Model.read(second / "present.json", game)
    assert {task.model for task in tasks} == {str(second / "present.json")}
    assert first.uses == found.uses == SETTINGS.uses
    assert found.weights == first.weights and found.net != first.net
    assert found.provenance["from"] == {"model": first.name, "provenance": first.provenance}
    assert (found.provenance["seed"], first.provenance["seed"]) == (4, 3)
    # A training can also begin from that model.
    again = tmp_path / "again"
    settings = SETTINGS._replace(seed=4, begun_from=first.name)
    (again / FIRST).mkdir(parents=True)
    (again / FIRST / "gate-value.jsonl").write_text("[1.0,0.5]\n" * 200)
    other = Training(settings, again, 1, ignore, first).run()
    assert other.weights == first.weights and other.net not in (first.net, found.net)
    assert other.provenance["from"] == found.provenance["from"]
    # If the new net does not pass, the model stays as it is.
    (again / FIRST / "gate-value.jsonl").write_text("[0.0,0.5]\n" * 200)
    assert Training(settings, again, 1, ignore, first).run() is first


def test_only_nets_are_renewed(trained, tmp_path):
    # The other use passes, and there is nothing to do in a second generation.
    settings = SETTINGS._replace(uses=("beliefs",), generations=2)
    folder = copy(trained, tmp_path, ("matches.jsonl", "fit.json"))
    (folder / "gate-beliefs.jsonl").write_text("[1.0,0.5]\n" * 200)
    found = Training(settings, tmp_path, 1, ignore).run()
    assert found.uses == ("beliefs",) and found.net is None
    assert [path.name for path in tmp_path.iterdir()] == [FIRST]
    with pytest.raises(ValueError, match="value alone is renewed"):
        Training(settings, tmp_path, 1, ignore, found)


# Matches


def test_a_match_is_played_again_as_it_was():
    game = games()["skystones"]()
    match = self_play.play(self_play.Task("skystones", 1, 1, 10))
    decisions = 0
    for decided in self_play.positions(game, json.loads(json.dumps(match))):
        for seat, answer in decided.answers.items():
            assert set(answer) <= set(decided.position.legal(seat))
            assert sum(answer.values()) == pytest.approx(1)
            decisions += 1
        end = decided.position.over
    assert end and decisions > 30


def test_seats_slip_in_every_second_match_only():
    game = games()["skystones"]()
    slips = {True: 0, False: 0}
    for number in range(6):
        match = self_play.play(self_play.Task("skystones", 1, number, 10))
        for step in match["steps"]:
            joint = dict(step["joint"])
            for seat, answer in step["answers"]:
                slips[self_play.is_clean(number)] += joint[seat] not in dict(answer)
    assert slips[True] == 0 < slips[False]
    assert Position.deal(game, match["deal"]).over is False


# Fits


def test_the_fit_finds_the_weights_behind_the_choices():
    chance = np.random.default_rng(1)
    made_with = np.array([1.0, -0.5, 0.25])
    rows = chance.integers(-2, 3, (20_000, 3)).astype(float)
    starts = np.arange(0, 20_000, 5)
    likely = np.exp(rows @ made_with)
    shares = likely / np.repeat(np.add.reduceat(likely, starts), 5)
    choices = Choices(rows, shares, starts)
    found = policies.fit_choices(choices, 3)
    assert found == pytest.approx(made_with, abs=0.01)
    uniform = policies.choices_loss(choices, np.zeros(3))
    assert uniform == pytest.approx(math.log(5))
    assert policies.choices_loss(choices, found) < uniform - 0.1
    assert policies.whole(found) == pytest.approx(list(SCALE * made_with), abs=10)


def test_losses_are_of_matches_that_were_not_fitted():
    game = games()["skystones"]()
    matches = [self_play.play(self_play.Task("skystones", 2, number, 10)) for number in range(10)]
    weights, losses = policies.fit(game, Features.of(game), matches)
    held_out = [match for match in matches if policies.is_held_out(match["match"])]
    assert [match["match"] for match in held_out] == [4, 9]
    for kind in Features.of(game).decisions:
        choices = policies.choices_of(game, Features.of(game), kind, held_out)
        assert losses[kind]["held_out"] == len(choices.starts)
        assert losses[kind]["fitted"] == pytest.approx(
            policies.choices_loss(choices, np.array(list(weights[kind].values())) / SCALE)
        )
