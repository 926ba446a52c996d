"""Sites of metrics, in scenarios small enough to check by eye."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator

import pytest

from perdure.scenario import sites
from perdure.scenario.model import Block, Scenario
from perdure.scenario.sites import Site


def scenario(text: str) -> Scenario:
    """Parse `"a? A a? B"`: a letter with ? is evaluated, a capital is learned; z after it means sleep."""
    blocks = []
    for group, word in enumerate(text.split()):
        name = word[0]
        blocks.append(
            Block(
                mode="learn" if name.isupper() else "evaluate",
                task=name.lower(),
                length=int(word[1:].strip("?z") or 20),
                subtype="sleep" if word.endswith("z") else "wake",
                group=group,
            )
        )
    return Scenario.of("drawn", blocks)


def sites_found(generator: Callable[[Scenario], Iterator[Site]], text: str, *roles: str) -> list[tuple[object, ...]]:
    return [(site.key, *(site.blocks[role] for role in roles)) for site in generator(scenario(text))]


def maintenance(text: str) -> list[tuple[object, ...]]:
    return sites_found(sites.since_learning, text, "evaluation", "reference")


def forward(text: str) -> list[tuple[object, ...]]:
    return sites_found(sites.around_learning_another, text, "before", "after")


def backward(text: str) -> list[tuple[object, ...]]:
    return sites_found(sites.around_later_learning, text, "before", "after")


def test_the_first_evaluation_after_learning_is_the_reference_and_not_a_site() -> None:
    assert maintenance("a? A a? B a?") == [("a", (4,), (2,))]


def test_learning_a_task_again_gives_it_a_new_reference() -> None:
    assert maintenance("A a? a? A a? a?") == [("a", (2,), (1,)), ("a", (5,), (4,))]


def test_evaluations_before_learning_have_nothing_to_maintain() -> None:
    assert maintenance("a? a? B a?") == []


def test_a_reference_is_flagged_if_another_task_was_learned_before_it() -> None:
    flags = [site.flags for site in sites.since_learning(scenario("A B a? a? A a? a?"))]
    assert [bool(flag) for flag in flags] == [True, False]


def test_the_end_of_learning_is_never_flagged() -> None:
    assert [site.flags for site in sites.since_learning_ended(scenario("A B a? a?"))] == [()]


def test_forward_transfer_compares_evaluations_around_learning_another_task_first() -> None:
    assert forward("a? b? A a? b? B a? b?") == [(("a", "b"), (1,), (4,))]


def test_backward_transfer_compares_evaluations_after_the_task_was_learned() -> None:
    assert backward("a? b? A a? b? B a? b?") == [(("b", "a"), (3,), (6,))]


def test_two_tasks_learned_between_two_evaluations_give_no_transfer_site() -> None:
    assert forward("c? A B c?") == []
    assert backward("C c? A B c?") == []
    [place] = sites.confounded(scenario("c? A B c?"))
    assert (place.task, place.before, place.after, place.learned) == ("c", 0, 3, (1, 2))


def test_a_task_learned_between_its_own_evaluations_gives_no_transfer_site() -> None:
    assert forward("b? A B b?") == []
    assert backward("b? A B b?") == []


def test_several_learning_blocks_of_one_task_count_as_one() -> None:
    assert forward("b? A A b?") == [(("a", "b"), (0,), (3,))]


def test_repeated_evaluations_count_by_the_last_before_and_the_first_after() -> None:
    assert forward("b? b? A b? b?") == [(("a", "b"), (1,), (3,))]


def test_a_task_never_learned_still_shows_forward_transfer() -> None:
    assert forward("b? A b? A b?") == [(("a", "b"), (0,), (2,)), (("a", "b"), (2,), (4,))]


def test_if_any_evaluation_is_sleep_only_sleep_evaluations_count() -> None:
    assert sites.visible_evaluations(scenario("a? A a?z a?")) == (2,)
    assert maintenance("A a?z a? B a?z") == [("a", (4,), (1,))]


def test_a_single_sleep_learning_block_hides_no_evaluation() -> None:
    assert sites.visible_evaluations(scenario("a? Az a?")) == (0, 2)


def test_recovery_and_experts_count_only_wake_learning() -> None:
    assert sites_found(sites.each_task_learned, "A Az A B", "learned") == [("a", (0, 2)), ("b", (3,))]
    assert sites_found(sites.between_learning_blocks, "A Az A", "previous", "later") == [("a", (0,), (2,))]
    assert sites_found(sites.learning_again_and_again, "A Az A", "learned") == []


def test_three_wake_blocks_make_recoveries_comparable() -> None:
    assert sites_found(sites.learning_again_and_again, "A B A A", "learned") == [("a", (0, 2, 3))]


def test_slopes_need_three_values() -> None:
    assert sites_found(sites.learning_three_values, "A2 A3", "learned") == [("a", (1,))]


def test_the_first_learning_block_does_not_follow_a_change() -> None:
    assert sites_found(sites.after_a_change, "A A", "changed") == []
    [site] = sites.after_a_change(scenario("A A B B"))
    assert (site.key, site.task) == (sites.LIFETIME, None)
    assert site.blocks == {"changed": (2,), "learned": (0, 1, 2, 3)}


def test_another_parameter_set_is_a_change() -> None:
    blocks = [Block("learn", "a", 5, {"width": 1}), Block("learn", "a", 5, {"width": 2}, group=1)]
    assert [site.blocks["changed"] for site in sites.after_a_change(Scenario.of("two", blocks))] == [(1,)]


def test_last_evaluations_split_into_seen_and_unseen() -> None:
    text = "a? A a? b?"
    assert sites_found(sites.last_evaluations, text, "last") == [("a", (2,)), ("b", (3,))]
    assert sites_found(sites.last_evaluations_of_seen, text, "last") == [("a", (2,))]
    assert sites_found(sites.last_evaluations_of_unseen, text, "last") == [("b", (3,))]


def test_an_ordered_pair_is_written_with_an_arrow() -> None:
    assert sites.key_text(("a", "b")) == "a→b"
    assert sites.key_text("a") == "a"


def test_the_measured_task_of_a_pair_is_the_second() -> None:
    assert Site(("a", "b"), {}).task == "b"


GENERATORS = [thing for name, thing in vars(sites).items() if inspect.isfunction(thing) and not name.startswith("_")]
GENERATORS = [generator for generator in GENERATORS if "Iterator[Site]" in str(generator.__annotations__.get("return"))]


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda one: one.__name__)
def test_sites_of_a_long_scenario_take_linear_time(generator: Callable[[Scenario], Iterator[Site]]) -> None:
    def steps(count: int) -> int:
        """Count the calls, which are the same on every machine, unlike seconds."""
        blocks = [
            Block("learn" if index % 6 == 0 else "evaluate", f"task{index % 50}", 20, group=index)
            for index in range(count)
        ]
        scenario, calls = Scenario.of("long", blocks), 0

        def counted(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += 1

        sys.setprofile(counted)
        try:
            list(generator(scenario))
        finally:
            sys.setprofile(None)
        return calls

    assert steps(4_000) < 5 * steps(1_000) + 100


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda one: one.__name__)
def test_the_docstring_completes_the_scenario_needs(generator: Callable[[Scenario], Iterator[Site]]) -> None:
    first = (generator.__doc__ or "").splitlines()[0]
    assert first[0].islower()
    assert not first.endswith(".")
