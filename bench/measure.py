# SPDX-License-Identifier: MIT
"""The arithmetic of the benchmarks: what is made of times, and how two sides take turns."""
import math
import os
import resource
import statistics
import time

PAUSE_SECONDS = 0.02  # after a turn: threads that spin for more work have gone to sleep


def ratio(ours, peer):
    """Time of ours by time of the peer; below 1: ours is faster. None where one is missing."""
    return ours / peer if ours and peer else None


def geometric_mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def runs_for(seconds, one_run_ms, most=1000):
    """How many runs fill a turn; at least one."""
    return max(1, min(most, int(1e3 * seconds / one_run_ms))) if one_run_ms > 0 else most


def summary(turns):
    """The fastest run of all turns, and the median of the turns' medians."""
    return {"min_ms": min(t["min_ms"] for t in turns),
            "median_ms": statistics.median(t["median_ms"] for t in turns),
            "turns": len(turns), "runs": sum(t["runs"] for t in turns)}


def turn_of(times_ms):
    return {"min_ms": min(times_ms), "median_ms": statistics.median(times_ms),
            "runs": len(times_ms)}


def alternate(sides, turns, seconds):
    """{name: summary} of sides that take turns: a, b, a, b ... Each side is a callable that makes n
    runs and returns a turn; one run before each turn, which is not counted, brings back its caches.
    """
    counts = {name: runs_for(seconds, side(2)["min_ms"]) for name, side in sides.items()}
    seen = {name: [] for name in sides}
    for _ in range(turns):
        for name, side in sides.items():
            time.sleep(PAUSE_SECONDS)
            side(1)
            seen[name].append(side(counts[name]))
    return {name: summary(list_) for name, list_ in seen.items()}


class Others:
    """What other processes do meanwhile: CPUs they keep busy, from the kernel's count of all work
    less that of this process and of those it has waited for."""

    def __init__(self):
        self.start = self.counts()

    @staticmethod
    def counts():
        """Seconds of a clock, of work of all CPUs, and of our own."""
        fields = open("/proc/stat").readline().split()[1:]
        user, nice, system, _, _, irq, softirq, stolen = map(int, fields[:8])
        work = (user + nice + system + irq + softirq + stolen) / os.sysconf("SC_CLK_TCK")
        own = sum(u.ru_utime + u.ru_stime for u in map(
            resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
        return time.monotonic(), work, own

    def busy(self):
        return self.between(self.start, self.counts())

    @staticmethod
    def between(start, end):
        clock, work, own = (b - a for a, b in zip(start, end))
        return max(0.0, work - own) / clock if clock > 0 else 0.0


def growth(sizes, times):
    """Exponents between neighbours: time grows as size to that power."""
    pairs = zip(zip(sizes, times), zip(sizes[1:], times[1:]))
    return [math.log(t1 / t0) / math.log(s1 / s0) for (s0, t0), (s1, t1) in pairs]


def sqnr(want, got):
    """10 log10(sum want^2 / sum (got - want)^2) over a list of arrays."""
    signal = sum(float((w.astype("f8") ** 2).sum()) for w in want)
    noise = sum(float(((g.astype("f8") - w.astype("f8")) ** 2).sum()) for w, g in zip(want, got))
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf
