"""tella's command line for an agent: `rl_cli(MyAgent)` at the end of a script."""

from __future__ import annotations

import argparse

from perdure.classic.tella.curriculum import curriculum_registry
from perdure.classic.tella.experiment import AgentFactory, CurriculumFactory, rl_experiment


def rl_cli(agent_factory: AgentFactory, curriculum_factory: CurriculumFactory | None = None) -> None:
    """Run what the command line asks for; without `curriculum_factory`, it names the curriculum too."""
    given = _parser(named=curriculum_factory is None).parse_args()
    rl_experiment(
        agent_factory,
        curriculum_factory or curriculum_registry[given.curriculum],
        given.num_lifetimes,
        given.num_parallel_envs,
        given.log_dir,
        given.agent_seed,
        given.curriculum_seed,
        given.render,
        given.agent_config,
        given.curriculum_config,
        given.lifetime_idx,
    )


def _parser(*, named: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--lifetime-idx", default=0, type=int, help="the first lifetime to live, counted from 0")
    add("--num-lifetimes", default=1, type=int, help="how many lifetimes")
    add("--num-parallel-envs", default=1, type=int, help="how many environments the agent acts in at a time")
    add("--log-dir", default="./logs", help="where logs are written")
    add("--render", action="store_true", help="show the first environment")
    add("--seed", help=argparse.SUPPRESS)  # of an older tella, and heeded by none
    add("--agent-seed", type=int, help="the seed of agents")
    add("--curriculum-seed", type=int, help="the seed of curricula")
    add("--agent-config", help="a file for the agent")
    add("--curriculum-config", help="a YAML file for the curriculum")
    if named:
        add("--curriculum", required=True, choices=curriculum_registry, help="what to live")
    return parser
