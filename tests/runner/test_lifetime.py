"""Running one lifetime: both kinds of loop, withheld values, refused actions, and the written log."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace

import perdure
from perdure.errors import LearnerError, LogError, ScenarioError, TaskError
from perdure.learners.interface import Answer, Situation, Transition
from perdure.log.rules import COST_COLUMNS
from perdure.runner.lifetime import LiveRun, lead, run_lifetime
from perdure.runner.seeds import Seeds
from perdure.scenario.compose import compose
from perdure.scenario.model import Block, Scenario, Task
from perdure.scenario.syllabus import Syllabus, parse_syllabus
from perdure.tasks.episodes import Episodes

SHORT = {"points": 1, "steps": 30}
PONGS = (Task("pong", "wide", params={**SHORT, "bot/paddle/width": 0.4}), Task("pong", "narrow", params=SHORT))
DIGITS = (Task("digits", "upright"), Task("digits", "tilted", params={"rotation": 40}))


def games(learn: int = 3, evaluate: int = 2) -> Syllabus:
    return compose("condensed", PONGS, learn=learn, evaluate=evaluate, seed=1)


def pictures(learn: int = 3, evaluate: int = 2) -> Syllabus:
    return compose("condensed", DIGITS, learn=learn, evaluate=evaluate, seed=1)


def rows(lifetime: LiveRun) -> pl.DataFrame:
    return perdure.read(lifetime.path).experiences


def play_idle(episode: gymnasium.Env[Any, Any]) -> list[float]:
    """Play one episode without moving; return the rewards."""
    episode.reset()
    rewards: list[float] = []
    over = False
    while not over:
        _, reward, terminated, truncated, _ = episode.step(0)
        rewards.append(float(reward))
        over = terminated or truncated
    return rewards


def test_a_learner_with_its_own_loop_runs_every_block(tmp_path: Path) -> None:
    life = run_lifetime(games(), tmp_path, "mine", seed=3)
    for block in life:
        for episode in block.episodes():
            assert isinstance(episode, gymnasium.Env)
            play_idle(episode)
    assert life.over
    lifetime = perdure.read(life.path)
    assert lifetime.complete
    logged_blocks = [(block.mode, block.task, block.length) for block in lifetime.scenario.blocks]
    assert logged_blocks == [(block.mode, block.task, block.length) for block in games().scenario.blocks]
    assert not [problem for problem in perdure.check(life.path).problems if problem.level == "error"]


def test_the_loop_of_2019_runs_as_printed(tmp_path: Path) -> None:
    learned: list[tuple[Any, Any]] = []

    def do_inference(inputs: Any) -> Any:
        return np.zeros(len(inputs), dtype=int)

    def calculate_loss_and_update_model(y: Any, y_hat: Any) -> None:
        learned.append((y, y_hat))

    syllabus = run_lifetime(pictures(), tmp_path, "printed", seed=3)
    for dataset in syllabus.datasets():
        dataset.reset()
        done = False
        while not done:
            batch, done, _info = dataset.next_batch()
            y_hat = do_inference(batch["inputs"])
            y = dataset.get_labels(batch["id"], y_hat)
            if y:
                calculate_loss_and_update_model(y, y_hat)
    assert len(learned) == 2 * 3
    assert syllabus.over
    assert rows(syllabus).height == sum(block.length or 0 for block in pictures().scenario.blocks)


def test_next_batch_before_the_answer_is_an_error(tmp_path: Path) -> None:
    with run_lifetime(pictures(), tmp_path, "early", seed=3) as lifetime:
        datasets = lifetime.datasets()
        dataset = next(datasets)
        dataset.reset()
        dataset.next_batch()
        with pytest.raises(TaskError, match="next_batch before batch 0 was answered"):
            dataset.next_batch()


def test_rewards_and_infos_are_withheld_in_evaluation_and_still_logged(tmp_path: Path) -> None:
    lifetime = run_lifetime(games(evaluate=6), tmp_path, "withheld", seed=3)
    for block in lifetime:
        for episode in block.episodes():
            given = play_idle(episode)
            assert block.learning or given == [0.0] * len(given)
    logged = rows(lifetime)
    tests = logged.filter(pl.col("block_type") == "test")
    assert (tests["reward"] != 0).any()


def test_the_course_of_episodes_depends_only_on_the_environments_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = Seeds.of(3)
    results: list[int] = []

    def making(task: Task, seed: int, **more: Any) -> Episodes:
        results.append(seed)
        return Episodes(task, seed, **more)

    def seen(name: str, seeds: Seeds) -> tuple[list[int], list[list[float]]]:
        result = []
        results.clear()
        for block in run_lifetime(games(), tmp_path, name, seeds=seeds):
            for episode in block.episodes():
                observation, _ = episode.reset()
                over = False
                while not over:
                    result.append(np.ravel(observation).tolist())
                    observation, _, terminated, truncated, _ = episode.step(0)
                    over = terminated or truncated
        return [*results], result

    monkeypatch.setattr("perdure.runner.lifetime.Episodes", making)
    first = seen("first", seeds)
    assert seen("others", replace(seeds, learner=8, scenario=8)) == first
    another = seen("another", replace(seeds, environment=8))
    assert (another[0] != first[0], another[1] != first[1]) == (True, True)


def test_labels_are_withheld_in_evaluation(tmp_path: Path) -> None:
    for dataset in run_lifetime(pictures(), tmp_path, "labels", seed=3).datasets():
        dataset.reset()
        done = False
        while not done:
            batch, done, _ = dataset.next_batch()
            labels = dataset.get_labels(batch["id"], np.zeros(32, dtype=int))
            assert (labels is None) == (dataset.mode == "evaluate")


def test_updates_disabled_in_a_learning_block_withhold_too(tmp_path: Path) -> None:
    text = """{"instructions": [{"$phase": "1.train"}, {"$info": {"disable_updates": true}},
        {"$repeat": {"$episode": "zero-one"}, "count": 2}]}"""
    syllabus = parse_syllabus(text)[0]
    for dataset in run_lifetime(syllabus, tmp_path, "disabled").datasets():
        dataset.reset()
        batch, _, _ = dataset.next_batch()
        assert dataset.get_labels(batch["id"], np.zeros(32, dtype=int)) is None
        batch, done, _ = dataset.next_batch()
        dataset.get_labels(batch["id"], np.zeros(32, dtype=int))
        assert done


class Watched:
    """A learner that acts at random and records its callbacks."""

    def __init__(self, cheats: str = "") -> None:
        self.cheats = cheats
        self.events: list[tuple[str, Situation]] = []
        self.learned: list[Any] = []
        self.state = 0
        self.learning = False

    def block_started(self, situation: Situation) -> None:
        self.events.append(("started", situation))
        self.learning = situation.learning

    def block_ended(self, situation: Situation) -> None:
        self.events.append(("ended", situation))

    def act(self, observation: Any) -> Any:
        if self.cheats == "learns in evaluation" and not self.learning:
            self.state += 1
        if self.cheats == "mutates":
            observation += 1
        if self.cheats == "shape":
            return np.zeros(3)
        return 0 if observation.ndim == 1 else np.zeros(len(observation), dtype=int)

    def learn(self, experience: Any) -> None:
        assert self.learning
        self.learned.append(experience)

    def fingerprint(self) -> str:
        return str(self.state)


def test_the_act_learn_loop_announces_each_block_and_teaches_only_in_learning(tmp_path: Path) -> None:
    learner = Watched()
    lead(run_lifetime(games(), tmp_path, "thin", seed=3, learner=learner), learner)
    assert [what for what, _ in learner.events] == ["started", "ended"] * len(games().scenario.blocks)
    assert [message.task for what, message in learner.events if what == "started"] == [
        block.task for block in games().scenario.blocks
    ]
    assert all(isinstance(task, Transition) for task in learner.learned)
    assert sum(task.terminated or task.truncated for task in learner.learned) == 2 * 3
    situation = learner.events[0][1]
    assert situation.action_space.n == 3
    assert situation.observation_space.shape == (7,)


def test_the_act_learn_loop_gives_labelled_batches_to_a_classifier(tmp_path: Path) -> None:
    learner = Watched()
    lead(run_lifetime(pictures(), tmp_path, "batches", seed=3, learner=learner), learner)
    assert len(learner.learned) == 2 * 3
    answer = learner.learned[0]
    assert isinstance(answer, Answer)
    assert answer.labels.shape == (32,)
    assert learner.events[0][1].inputs == (12, 12)
    assert learner.events[0][1].outputs == 10


@pytest.mark.parametrize("syllabus", [games(), pictures()], ids=["episodes", "batches"])
def test_a_learner_that_changes_in_evaluation_is_refused_and_the_block_is_named(
    tmp_path: Path, syllabus: Syllabus
) -> None:
    learner = Watched("learns in evaluation")
    first = syllabus.scenario.blocks[0]
    with pytest.raises(LearnerError, match=rf"block 0 \(evaluate {first.task}\): the learner changed"):
        lead(run_lifetime(syllabus, tmp_path, "cheat", learner=learner), learner)
    assert perdure.read(tmp_path / "cheat").complete is False


def test_a_custom_loop_is_checked_for_changes_too(tmp_path: Path) -> None:
    learner = Watched()
    lifetime = run_lifetime(games(), tmp_path, "own", learner=learner)

    def loop() -> None:
        for block in lifetime:
            for episode in block.episodes():
                play_idle(episode)
            learner.state += 1

    with pytest.raises(LearnerError, match=r"block 0 \(evaluate pong_wide\): the learner changed"):
        loop()


def test_a_learner_may_build_itself_in_its_first_block_but_not_stop_learning_later(tmp_path: Path) -> None:
    learner = Watched()
    lifetime = run_lifetime(games(), tmp_path, "late", learner=learner)
    for block in lifetime:
        learner.state += not block.learning
        lifetime.freeze()
        for episode in block.episodes():
            with pytest.raises(LearnerError, match="freeze after the block's first experience"):
                lifetime.freeze()
            play_idle(episode)
    assert lifetime.over


def test_a_wrong_action_names_the_block_and_the_space(tmp_path: Path) -> None:
    learner = Watched("shape")
    with pytest.raises(TaskError, match=r"block 0 \(evaluate pong_wide\).*action array.*not in Discrete"):
        lead(run_lifetime(games(), tmp_path, "shape", learner=learner), learner)


def test_a_learner_cannot_write_into_an_observation(tmp_path: Path) -> None:
    learner = Watched("mutates")
    message = (
        r"block 0 \(.*\): the learner wrote into an observation; copy it first \(test_lifetime\.py:\d+: .*read-only"
    )
    with pytest.raises(LearnerError, match=message):
        lead(run_lifetime(games(), tmp_path, "mutates", learner=learner), learner)


def test_a_classifier_that_writes_into_a_batch_is_refused_with_advice_to_copy(tmp_path: Path) -> None:
    class Scales:
        def act(self, inputs: Any) -> Any:
            inputs *= 2
            return np.zeros(len(inputs), dtype=int)

    with pytest.raises(LearnerError, match=r"block 0 .*: the learner wrote into the inputs of a batch; copy it first"):
        lead(run_lifetime(pictures(), tmp_path, "scales"), Scales())


def test_a_value_error_of_the_learner_is_raised_unchanged(tmp_path: Path) -> None:
    class Wrong:
        def act(self, observation: Any) -> Any:
            raise ValueError("my own trouble")

    with pytest.raises(ValueError, match="my own trouble"):
        lead(run_lifetime(games(), tmp_path, "wrong"), Wrong())


def test_a_task_is_noted_only_if_every_episode_was_cut_at_the_step_limit(tmp_path: Path) -> None:
    lifetime = run_lifetime(games(), tmp_path, "cut", step_limit=2)
    assert not run_lifetime(games(), tmp_path, "unlived", step_limit=2).notes
    for block in lifetime:
        for episode in block.episodes():
            play_idle(episode)
    assert len(lifetime.notes) == 2
    assert (
        "the task 'pong_wide' never ended an episode: every one was cut at steps_per_episode = 2" in lifetime.notes[0]
    )
    lifetime.note_end("pong_wide", cut=False)
    lifetime.note_end("pong_wide", cut=True)
    assert len(lifetime.notes) == 1


def test_a_learner_without_act_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LearnerError, match=r"object has neither act\(observation\) nor live\(life\)"):
        lead(run_lifetime(games(), tmp_path, "nothing"), object())


def test_a_learner_that_returns_early_is_refused(tmp_path: Path) -> None:
    class Lazy:
        def live(self, lifetime: LiveRun) -> None:
            for block in lifetime:
                for episode in block.episodes():
                    play_idle(episode)
                return

    with pytest.raises(LearnerError, match=r"Lazy.live returned before the lifetime was over"):
        lead(run_lifetime(games(), tmp_path, "lazy"), Lazy())


def test_an_unfinished_block_is_refused_by_name(tmp_path: Path) -> None:
    lifetime = run_lifetime(games(), tmp_path, "early")
    with pytest.raises(LearnerError, match=r"block 0 \(evaluate pong_wide\): left after 1 of 2 episodes"):
        [play_idle(next(block.episodes())) for block in lifetime]


def test_an_abandoned_or_restarted_episode_is_logged_as_incomplete(tmp_path: Path) -> None:
    lifetime = run_lifetime(games(), tmp_path, "half", seed=3)
    for block in lifetime:
        for number, episode in enumerate(block.episodes()):
            episode.reset()
            if number == 0:
                episode.step(0)
                continue  # abandoned in the middle
            episode.step(0)
            play_idle(episode)  # restarted
    logged = rows(lifetime)
    assert logged["exp_num"].n_unique() == sum(block.length or 0 for block in games().scenario.blocks)
    first, second = logged.filter(pl.col("exp_num") == 0), logged.filter(pl.col("exp_num") == 1)
    assert first["exp_status"].to_list() == ["incomplete"]
    assert second["exp_status"].to_list() == ["incomplete", "complete"]


def test_a_step_after_the_end_or_before_reset_is_refused(tmp_path: Path) -> None:
    with run_lifetime(games(), tmp_path, "over") as lifetime:
        blocks = iter(lifetime)
        episodes = next(blocks).episodes()
        episode = next(episodes)
        with pytest.raises(LearnerError, match="step before reset"):
            episode.step(0)
        play_idle(episode)
        with pytest.raises(LearnerError, match="reset of an episode that is over"):
            episode.reset()
        next(episodes)
        with pytest.raises(LearnerError, match="taken and never begun"):
            next(episodes)


def test_a_block_measured_in_steps_ends_after_its_steps(tmp_path: Path) -> None:
    text = """{"instructions": [{"$phase": "1.train"},
        {"$repeat": {"$episode": "Pong", "points": 1, "steps": 10}, "steps": 35}]}"""
    lifetime = run_lifetime(parse_syllabus(text)[0], tmp_path, "steps")
    for block in lifetime:
        assert block.length is None
        for episode in block.episodes():
            play_idle(episode)
    steps = rows(lifetime)["steps"]
    assert steps.sum() >= 35
    assert steps[:-1].sum() < 35


def test_a_block_can_be_one_environment_that_resets_itself(tmp_path: Path) -> None:
    lifetime = run_lifetime(games(), tmp_path, "env")
    for block in lifetime:
        env = block.env()
        env.reset()
        while not env.exhausted:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()
        with pytest.raises(LearnerError, match="no episode is left"):
            env.step(0)
    assert lifetime.over


def test_parameters_are_logged_as_drawn_and_depend_only_on_their_place(tmp_path: Path) -> None:
    drawn = Task("pong", params={**SHORT, "bot/paddle/width": {"$uniform": [0.2, 0.4]}})
    lifetimes = [
        run_lifetime(compose("single", [drawn], learn=5, evaluate=0), tmp_path, name, seed=7) for name in ("a", "b")
    ]
    for lifetime in lifetimes:
        for block in lifetime:
            for episode in block.episodes():
                play_idle(episode)
    one, other = (rows(lifetime).drop("timestamp", *COST_COLUMNS) for lifetime in lifetimes)
    assert one.equals(other)
    assert one["task_params"].n_unique() == 5
    assert "$uniform" not in one["task_params"][0]


def test_the_manifest_has_three_seeds_and_the_log_has_its_syllabus(tmp_path: Path) -> None:
    lifetime = run_lifetime(games(), tmp_path, "seeds", seed=11)
    lifetime.close()
    import msgspec

    manifest = msgspec.json.decode((lifetime.path / "manifest.json").read_bytes())
    assert manifest["seed"] == 11
    assert set(manifest["protocol"]["seeds"]) == {"learner", "scenario", "environment"}
    again = parse_syllabus((lifetime.path / "scenario_info.json").read_bytes())[0]
    assert again.scenario == games().scenario


def test_without_a_place_a_lifetime_is_written_where_info_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("L2DATA", str(tmp_path))
    lifetime = run_lifetime(games())
    lifetime.close()
    assert lifetime.path.parent == tmp_path / "logs"
    assert lifetime.path.name.startswith("condensed-1-")


def test_an_existing_lifetime_is_not_overwritten(tmp_path: Path) -> None:
    run_lifetime(games(), tmp_path, "once").close()
    with pytest.raises(LogError, match="exists already"):
        run_lifetime(games(), tmp_path, "once")


def test_an_unknown_task_fails_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(perdure.PerdureError, match=r"unknown task or environment 'pung'; did you mean 'pong'"):
        run_lifetime(compose("single", ["pung"], learn=1, evaluate=0), tmp_path, "unknown")
    assert not (tmp_path / "unknown").exists()


def test_a_scenario_without_a_syllabus_can_be_run(tmp_path: Path) -> None:
    scenario = Scenario.of("bare", [Block("learn", "zero-one", 2), Block("evaluate", "zero-one", 1)])
    learner = Watched()
    lead(run_lifetime(scenario, tmp_path, "bare"), learner)
    assert len(learner.learned) == 2
    with pytest.raises(ScenarioError, match="a block without length"):
        run_lifetime(Scenario.of("bare", [Block("learn", "zero-one", None)]), tmp_path, "endless")


def test_a_mixed_lifetime_has_the_measures_of_both_kinds(tmp_path: Path) -> None:
    scenario = Scenario.of(
        "mixed", [Block("learn", "pong", 1), Block("learn", "zero-one", 2)], [Task("pong", params=SHORT)]
    )
    learner = Watched()
    lead(run_lifetime(scenario, tmp_path, "mixed"), learner)
    lifetime = perdure.read(tmp_path / "mixed")
    assert list(lifetime.measures) == ["reward", "accuracy", "error"]
    assert lifetime.experiences["reward"].null_count() == 2
    assert not math.isnan(lifetime.passage("accuracy").values.sum())
