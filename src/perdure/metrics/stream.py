"""How well does it do on a stream? Performance of each row before it is learned, and after changes."""

from __future__ import annotations

import numpy as np

from perdure.curves.arrays import mean, start, terminal
from perdure.curves.model import Curve, Twin
from perdure.metrics.arithmetic import Value, flat, recovery_time
from perdure.metrics.declare import metric
from perdure.scenario import sites
from perdure.scenario.sites import Site


@metric(sites.stream, unit="points", source="Gama et al. 2013", question="does")
def stream_performance(learned: Curve) -> float:
    r"""Measure the mean performance over a stream in which each row is scored before it is learned.

    $$\frac{1}{n} \sum_{k=1}^{n} \text{learned}_k$$

    Weakness: it mixes how fast and how high, and a long stream hides what happens after a change.
    """
    return mean(learned.raw)


@metric(sites.stream, unit="points", source="Gama et al. 2013", question="does")
def late_stream_performance(learned: Curve) -> float:
    r"""Measure the mean performance over the last tenth of a stream.

    $$\frac{1}{n - \lfloor 9n/10 \rfloor} \sum_{k > \lfloor 9n/10 \rfloor} \text{learned}_k$$

    Weakness: if tasks or concepts come one after the other, it sees only the last.
    """
    return terminal(learned.raw)


@metric(sites.stream, unit="points", source="Perdure", question="does")
def twin_stream_gain(learned: tuple[Curve, ...], at: Site, twin: Twin) -> float:
    r"""Measure how much better a stream is predicted than by a stateless twin or another baseline.

    $$\frac{1}{n} \sum_{k=1}^{n} \left( \text{learned}_k - \text{twin}_k \right)$$

    Weakness: a twin that starts again in every block falls behind the more, the more blocks there are.
    """
    lengths = [len(block) for block in learned]
    gains = [mean(block.raw) - twin.means[index] for block, index in zip(learned, at.blocks["learned"], strict=True)]
    return float(np.average(gains, weights=lengths))


@metric(sites.stream_changes, combine=flat, unit="points", better="lower", source="Perdure", question="recovers")
def drop_after_change(before: Curve, after: Curve) -> float:
    r"""Measure how far performance drops when the task, the parameters or the block of a stream changes.

    $$\mathrm{TLP}(\text{before}) - \frac{1}{h} \sum_{k=1}^{h} \text{after}_k, \quad h = \max(1, \lfloor n / 10
    \rfloor)$$

    Weakness: a drop that is made up within the first tenth is not seen. Between different tasks it also measures which
    of them is harder.
    """
    return terminal(before.raw) - start(after.raw)


@metric(sites.stream_changes, combine=flat, unit="experiences", better="lower", source="Perdure", question="recovers")
def recovery_after_change(before: Curve, after: Curve) -> Value:
    r"""Measure how many experiences it takes after a change of the stream to be as good as before.

    $$\min \lbrace k \ge 0 : \text{after}_k \ge \mathrm{TLP}(\text{before}) \rbrace$$

    Weakness: a noisy curve reaches the target by chance before it has recovered. One that never recovers counts as one
    more than the block's length, so blocks of different lengths do not compare.
    """
    time = recovery_time(before, after)
    if time is None:
        return Value(len(after) + 1, ("never recovered, counted as one more than the block's length",))
    return Value(time)
