"""What is learned of a game: its features and models, whatever the game."""

import json
import math
import struct
import zlib
from collections import Counter, defaultdict
from itertools import chain

import pytest

import wire
from ai.search import search
from croupier.v1.game_pb2 import View
from engine import games, model
from engine.calibration import NONE
from engine.errors import RulesetError
from engine.features import SCALE, Features
from engine.model import BELIEFS, Model, ModelError, learned, nothing
from engine.net import LEAST_HALF_WIDTH, SCALES
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from tests.games import facts_of
from tests.support.long_form import LONG_FORM
from tests.support.models import (
    calibrated,
    has_features,
    likelihoods,
    positions,
    random_model,
    shared,
)
from tests.support.play import game_of

MATCHES = 5 if LONG_FORM else 3
WORLDS = 5
SUM_UNIT = SCALES["direct"]
LEARNABLE = [game_id for game_id, game in games().items() if has_features(game)]
# Of all features below. Weights are for the features from which they were learned: these stay.
CHECKSUMS = {
    "castle_rampage": 2_395_864_350,
    "champion_chess": 101_981_835,
    "powershot_soccer": 917_562_622,
    "skystones": 2_142_586_416,
}
SHARPNESS = {"champion_chess": 2, "powershot_soccer": 3}  # Of playout policies.
DRAWS = 2_000


def a_view(game_id, seed=1, plies=7):
    for ply, position in enumerate(positions(games()[game_id](), seed)):
        if ply == plies:
            return position.view(position.deciders[0])
    raise AssertionError


@pytest.mark.parametrize("game_id", LEARNABLE)
def test_features_tell_nothing_that_the_seat_does_not_know(game_id):
    game = games()[game_id]()
    features = Features.of(game)
    described = 0
    for seed in range(MATCHES):
        for ply, position in enumerate(positions(game, seed)):
            for seat in position.deciders if ply % 3 == 0 else ():
                rows = features.rows(position, seat)
                sampler = Sampler.of(position.view(seat))
                for world in range(WORLDS):
                    sampled = sampler.sample(world)
                    assert features.rows(sampled, seat) == rows, (seed, ply)
                    assert features.moment_of(sampled, seat) == features.moment_of(position, seat)
                described += rows is not None
    assert described > 20


@pytest.mark.parametrize("game_id", LEARNABLE)
def test_every_feature_is_named_and_differs(game_id):
    game = games()[game_id]()
    features = Features.of(game)
    seen = {kind: [set() for _ in names] for kind, names in features.decisions.items()}
    for seed in range(40):
        for position in positions(game, seed):
            for seat in position.deciders:
                if (rows := features.rows(position, seat)) is None:
                    continue
                kind, packed = rows
                width = len(seen[kind])
                assert len(packed) == 2 * width * len(position.legal(seat))
                for i, number in enumerate(struct.unpack(f"{len(packed) // 2}h", packed)):
                    seen[kind][i % width].add(number)
    for kind, values in seen.items():
        constant = [i for i, found in enumerate(values) if len(found) < 2]
        assert not constant, (kind, [features.decisions[kind][i] for i in constant])


@pytest.mark.parametrize("game_id", LEARNABLE)
def test_features_are_those_from_which_weights_were_learned(game_id):
    facts, checksum = facts_of(game_id), 0
    for ruleset in (*facts.rulesets, *facts.small_rulesets):
        game, _ = game_of(game_id, ruleset)
        if (features := Features.of(game)) is None:
            continue
        checksum = zlib.crc32(repr((features.decisions, features.inputs)).encode(), checksum)
        for seed in range(4):
            for position in positions(game, seed):
                for seat in position.deciders:
                    kind, packed = features.rows(position, seat) or ("", b"")
                    checksum = zlib.crc32(kind.encode() + packed, checksum)
                if features.inputs and not position.over:
                    seat, packed = features.row(position)
                    checksum = zlib.crc32(bytes([seat]) + packed, checksum)
    assert checksum == CHECKSUMS[game_id]


@pytest.mark.parametrize("game_id", SHARPNESS)
def test_the_policy_chooses_by_a_sharp_softmax(game_id):
    game = games()[game_id]()
    tested = Counter()
    for seed in range(60):
        model = random_model(game, seed % 4, uses=("playouts",), most=300)
        policy = PlayoutPolicy.of(game, model)
        for ply, position in enumerate(positions(game, seed)):
            for seat in position.deciders if (ply + seed) % 8 == 4 else ():
                likely = shared(likelihoods(position, seat, model, SHARPNESS[game_id]))
                kind = (Features.of(game).rows(position, seat) or (None,))[0]
                if not 2 <= len(likely) <= 40 or tested[kind] == 20:
                    continue
                tested[kind] += 1
                drawn = Counter(policy.action(position, seat, n) for n in range(DRAWS))
                for action, share in likely.items():
                    noise = 5 * math.sqrt(share * (1 - share) / DRAWS) + 0.003
                    assert drawn[action] / DRAWS == pytest.approx(share, abs=noise), (seed, ply)
    assert len(tested) >= 3 and all(n == 20 for n in tested.values()), tested


@pytest.mark.parametrize("game_id", ["skystones", "powershot_soccer"])
def test_playouts_value_a_position_as_the_position_itself_is_valued(game_id):
    # A playout describes its own form of a position, and the estimate the position.
    game = games()[game_id]()
    policy = PlayoutPolicy.of(game, random_model(game, 3, uses=("value",)))
    policy.horizon = 1
    seen = 0
    for seed in range(20):
        for ply, position in enumerate(positions(game, seed)):
            after = {outcome(position, action, 1) for action in legal_of_one(position)}
            last = {outcome(position, action, 2) for action in legal_of_one(position)}
            found = [Position.from_bytes(game, each) for each in after]
            if after != last or not found or any(each.over for each in found):
                continue
            if all(policy.at(each) > policy.at(position) for each in found):
                values = [pytest.approx(policy.score(each)) for each in found]
                assert policy.playouts(position, 1, seed) in values, (seed, ply)
                seen += 1
    assert seen > 20


def legal_of_one(position):
    """The actions of a seat that decides alone."""
    return position.legal(position.deciders[0]) if len(position.deciders) == 1 else ()


def outcome(position, action, chance):
    """The bytes of a position after an action of the seat that decides alone."""
    after = position.copy()
    after.apply({position.deciders[0]: action}, chance)
    return bytes(after)


@pytest.mark.parametrize("game_id", LEARNABLE)
def test_worlds_stay_possible_with_a_model(game_id):
    game = games()[game_id]()
    for seed in range(MATCHES):
        weighted = random_model(game, seed)
        for position in positions(game, seed):
            for seat in position.deciders:
                view = position.view(seat)
                sampler = Sampler.of(view, weighted)
                assert sampler.model is weighted
                for world in range(WORLDS):
                    assert sampler.sample(world).view(seat) == view


@pytest.mark.parametrize("game_id", LEARNABLE)
def test_a_search_is_a_function_of_its_model(game_id):
    view = a_view(game_id)
    one, same, other = (random_model(view.game, seed) for seed in (1, 1, 2))
    assert one.name == same.name != other.name

    def found(used):
        return search(view, iterations=300, seed=5, model=used)

    assert found(one) == found(same)
    assert found(one) != found(other)
    assert found(nothing(view.game)) == found(random_model(view.game, 1, uses=()))


def probabilities(view, used):
    """How likely each card lies at each hidden place."""
    found = Sampler.of(view, used).beliefs(400, 1).cards
    return {(each.place, each.card): each.probability for each in found}


def distance(one, other):
    """How far two answers of `probabilities` are apart."""
    return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other})


@pytest.mark.parametrize("game_id", LEARNABLE)
def test_the_choices_of_an_opponent_who_plays_worse_tell_less(game_id):
    game = games()[game_id]()
    # Weights so small that no choice seems impossible, as a tenth of each counts as uniform.
    used = random_model(game, 3, most=100)
    uniform = random_model(game, 3, uses={*used.uses} - {BELIEFS})
    assert used.against(1) is used.against(0.5).against(1) is used
    assert used.against(0.5).name == used.name
    apart = dict.fromkeys((0.05, 0.3, 1), 0)
    for seed in range(MATCHES):
        for ply, position in enumerate(positions(game, seed)):
            if ply % 5 or position.over:
                continue
            view = position.view(position.deciders[0])
            least = probabilities(view, used.against(0.01))
            for sharpness in apart:
                apart[sharpness] += distance(probabilities(view, used.against(sharpness)), least)
            assert probabilities(view, used.against(0)) == probabilities(view, uniform)
    assert apart[0.05] < apart[0.3] < apart[1], apart


@pytest.mark.parametrize("game_id", LEARNABLE)
def test_sharpness_changes_only_what_past_choices_tell(game_id):
    view = a_view(game_id)
    used = random_model(view.game, 3)
    others = random_model(view.game, 3, uses={*used.uses} - {BELIEFS})
    models = used.against(0), others, used
    found = [search(view, iterations=200, seed=3, model=each) for each in models]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("game_id", LEARNABLE)
def test_each_use_has_an_effect_of_its_own(game_id):
    game = games()[game_id]()
    [*uses] = Features.of(game).uses
    assert uses
    differ = dict.fromkeys(uses, 0)
    for seed in range(3):
        for ply, position in enumerate(positions(game, seed)):
            if ply % 5 or position.over:
                continue
            view = position.view(position.deciders[0])
            without = search(view, iterations=200, seed=3, model=nothing(game))
            for use in [use for use in uses if not differ[use]]:
                used = random_model(game, seed, uses=(use,))
                differ[use] += search(view, iterations=200, seed=3, model=used) != without
            if all(differ.values()):
                return
    assert all(differ.values()), differ


@pytest.mark.parametrize("game_id", LEARNABLE)
def test_playouts_end_with_what_the_net_says_of_the_inputs(game_id):
    game = games()[game_id]()
    if not Features.of(game).inputs:
        pytest.skip("has no net")
    named = set()
    for seed in range(MATCHES):
        valued = random_model(game, seed, uses=("value",))
        features, policy = valued.features, PlayoutPolicy.of(game, valued)
        for position in positions(game, seed):
            if position.over:
                break
            seat, packed = features.row(position)
            row = struct.unpack(f"{len(packed) // 2}h", packed)
            assert len(row) == len(features.inputs)
            named |= {i for i, value in enumerate(row) if value}
            x, half = (each / SUM_UNIT for each in features.net.outputs(row))
            half = max(LEAST_HALF_WIDTH, half)
            win, lost = 1 / (1 + math.exp(half - x)), 1 / (1 + math.exp(half + x))
            if seat == 1:
                win, lost = lost, win
            score, draw = policy.score(position)
            assert draw == pytest.approx(max(0, 1 - win - lost), abs=1e-12), seed
            assert score == pytest.approx(win + draw / 2, abs=1e-12), seed
    assert len(named) > 0.6 * len(features.inputs)


# Files


@pytest.fixture
def weights_file(tmp_path, monkeypatch):
    """The file of weights of Skystones, as long as the test runs."""
    path = tmp_path / "weights.json"
    monkeypatch.setattr(model, "file_of", lambda game: path if path.exists() else None)
    model._of_default_ruleset.cache_clear()
    yield path
    model._of_default_ruleset.cache_clear()


@pytest.mark.parametrize("game_id", LEARNABLE)
def test_a_calibration_is_written_and_read_and_holds_for_one_ruleset_and_all_uses(
    tmp_path, game_id
):
    game = games()[game_id]()
    bare = random_model(game, 1)
    written = calibrated(bare)
    path = tmp_path / "weights.json"
    path.write_text(written.write())
    read = Model.read(path, game)
    assert bare.calibration is None and bare.name != written.name == read.name
    assert read.calibration == written.calibration == read.against(0.5).calibration
    assert Model.read(path, game, uses=read.uses[:1]).calibration is None
    for name in facts_of(game_id).rulesets:
        other, _ = game_of(game_id, name)
        under = read.under(other)
        if other.ruleset != game.ruleset and under is not None:
            assert under.calibration is None
    told = set()
    for position in positions(game, 2):
        for seat in position.deciders:
            shift, stretch = read.calibrated(position, seat)
            assert stretch == 5 / SCALE
            assert bare.calibrated(position, seat) == NONE
            told.add(round(shift * SCALE))
    assert told <= {0, *read.calibration.values()}
    assert len(told) > 1 or not read.features.moments


def test_scores_of_skystones_have_a_shift_for_each_pick_and_placement():
    game = games()["skystones"]()
    features = Features.of(game)
    found = [
        {features.moment_of(position, seat) for seat in position.deciders}
        for position in positions(game, 2)
        if not position.over
    ]
    for number in range(4):
        kinds = [f"pick {n}" for n in range(1, 6)] + [f"placement {n}" for n in range(1, 10)]
        expected = [{f"round {number + 1}, {kind}"} for kind in kinds]
        assert found[len(kinds) * number : len(kinds) * (number + 1)] == expected


def test_scores_of_castle_rampage_have_a_shift_for_each_set_up_and_for_early_turns():
    game = games()["castle_rampage"]()
    features = Features.of(game)
    told = defaultdict(set)
    for position in chain.from_iterable(positions(game, seed) for seed in range(MATCHES)):
        for seat in position.deciders:
            now = View.FromString(wire.write_view(game, position.view(seat)))
            told[features.moment_of(position, seat)].add(now.castle_rampage.turn)
    assert told["turns 1 to 4"] == {1, 2, 3, 4} and told["turns 5 to 8"] == {5, 6, 7, 8}
    assert min(told["turns from 9 on"]) == 9
    assert told["set-up 1"] == told["set-up 2"] == {0}


@pytest.mark.parametrize("game_id", LEARNABLE)
def test_a_model_is_written_and_read(tmp_path, game_id):
    game = games()[game_id]()
    written = random_model(game, 1)
    path = tmp_path / "weights.json"
    path.write_text(written.write())
    read = Model.read(path, game)
    assert (read.name, read.uses, read.weights) == (written.name, written.uses, written.weights)
    assert read.write() == written.write()
    fewer = Model.read(path, game, uses=())
    assert fewer.uses == () and fewer.name != read.name
    assert path.stat().st_size < model.MAX_BYTES


def test_a_model_for_values_alone_needs_no_weights(tmp_path):
    game = games()["skystones"]()
    whole = random_model(game, 1, uses=("value",))
    bare = Model(game, {}, ("value",), net=whole.net)
    path = tmp_path / "weights.json"
    path.write_text(bare.write())
    view = a_view("skystones")
    found = [search(view, iterations=200, seed=3, model=each) for each in (whole, bare)]
    assert found[0] == found[1] != search(view, iterations=200, seed=3, model=nothing(game))
    assert Model.read(path, game).name == bare.name != whole.name
    with pytest.raises(ValueError, match="not those of the game's features"):
        Model(game, {}, ("beliefs", "value"), net=whole.net)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda document: document.update(format="croupier-model/0"), "format"),
        (lambda document: document.update(game="other"), "another game: other"),
        (lambda document: document.update(rules_version=99), "another rules_version: 99"),
        (lambda document: document.update(ruleset="00"), "another ruleset: 00"),
        (lambda document: document.pop("weights"), "has no 'weights'"),
        (lambda document: document.pop("provenance"), "has no 'provenance'"),
        (lambda document: document["weights"].pop("place"), "are not those of the game's features"),
        (lambda document: document["weights"].update(place=7), "has no attribute|not iterable"),
        (lambda document: document["weights"]["place"].update(own=0.5), "no whole number"),
        (lambda document: document["weights"]["place"].update(own=True), "no whole number"),
        (lambda document: document["weights"]["place"].update(own=1 << 40), "no whole number"),
        (lambda document: document.update(uses=["magic"]), "must be among"),
        (lambda document: document.update(uses=7), "not iterable"),
        (lambda document: document.pop("net"), "has no 'net'"),
        (lambda document: document.update(net=None), "the use value needs a net"),
        (lambda document: document["net"].pop("second"), "the layers must be"),
        (lambda document: document["net"].update(second="AAAA"), "3 bytes|numbers of 16 bits"),
        (lambda document: document["net"].update(second="AAA="), "second must have 512 weights"),
        (lambda document: document["net"].update(second="%"), "base64|padding"),
        (lambda document: document["net"].update(second=7), "bytes-like|ASCII"),
        (lambda document: document["calibration"].pop("stretch"), "not that of the game's moments"),
        (lambda document: document["calibration"].update(pick=1), "not that of the game's moments"),
        (lambda document: document["calibration"].update(stretch=0.5), "is not whole"),
        (lambda document: document["calibration"].update(stretch=-252), "turns scores around"),
        (lambda document: document.update(calibration=7), "not iterable"),
        (lambda document: document.update(more="x" * model.MAX_BYTES), "more than 400,000 bytes"),
    ],
)
def test_a_broken_file_is_refused_with_its_name(weights_file, change, said):
    game = games()["skystones"]()
    document = json.loads(calibrated(random_model(game, 1)).write())
    change(document)
    weights_file.write_text(json.dumps(document))
    with pytest.raises(ModelError, match=said) as raised:
        learned(game)
    assert str(weights_file) in str(raised.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"weights"', "\udcff"])
def test_a_file_of_something_else_is_refused_with_its_name(weights_file, text):
    weights_file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ModelError, match=r"weights\.json"):
        learned(games()["skystones"]())


def test_a_model_values_rounds_like_its_own_and_foresees_under_one_ruleset(weights_file):
    default = games()["skystones"]()
    used = random_model(default, 1)
    weights_file.write_text(used.write())
    assert learned(default).name == used.name
    assert learned(games()["skystones"]({"special_fields": 0})) is learned(default)
    assert learned(default).foresight is not None
    names = {used.name}
    for ruleset in ({"special_fields": 3}, {"board_size": 2, "hand_size": 2}):
        assert learned(games()["skystones"](ruleset)) is None
    for limit in (17, 19, 24):
        ruleset = {"hand_limit": limit}
        other = games()["skystones"](ruleset)
        found = learned(other)
        assert found is learned(games()["skystones"](ruleset)) is found.under(other)
        assert found.uses == ("value",) and found.foresight is None
        assert found.net == used.net
        assert Model.read(weights_file, other).name == found.name
        names.add(found.name)
        with pytest.raises(ModelError, match="no use under another ruleset"):
            Model.read(weights_file, other, uses=("beliefs",))
    assert len(names) == 4


@pytest.mark.parametrize("game_id", LEARNABLE)
def test_what_holds_under_a_ruleset_is_used_under_it(game_id):
    facts, default = facts_of(game_id), learned(games()[game_id]())
    for ruleset in (*facts.rulesets, *facts.small_rulesets):
        game, _ = game_of(game_id, ruleset)
        used = learned(game)
        holding = tuple(use for use in default.uses if use in Features.of(game).holding)
        if game.ruleset == default.game.ruleset:
            assert used is default
        elif used is None:
            assert holding == ()
        else:
            assert used.uses == holding and used.net == default.net
            assert used.weights in (default.weights, {}) and used.game.ruleset == game.ruleset


def test_nothing_that_was_learned_is_no_policy():
    game = games()["castle_rampage"]()
    policies = PlayoutPolicy.of(game, nothing(game)), PlayoutPolicy.uniform(game)
    for position in positions(game, 2):
        for seat in position.deciders:
            chosen = [[policy.action(position, seat, n) for n in range(5)] for policy in policies]
            assert chosen[0] == chosen[1]
        assert policies[0].score(position) == (0.5, 0)


def test_a_game_without_features_has_no_model():
    game = games()["kuhn_poker"]()
    assert Features.of(game) is None and learned(game) is None is nothing(game)
    with pytest.raises(ValueError, match="nothing is learned of kuhn_poker"):
        Model(game, {}, ())


def test_what_is_committed_can_be_used():
    for game_class in games().values():
        try:
            game = game_class()
        except RulesetError:
            continue
        found = learned(game)
        assert (found is None) == game.reference
        if found is not None:
            passed, made = set(), found.provenance
            while made:
                passed |= {gate["use"] for gate in made["gates"] if gate["verdict"] == "elo1"}
                made = made.get("from", {}).get("provenance")
            assert set(found.uses) <= passed
            named = {kind: tuple(weights) for kind, weights in found.weights.items()}
            only_value = found.uses == ("value",)
            assert named == ({} if only_value else Features.of(game).decisions)
