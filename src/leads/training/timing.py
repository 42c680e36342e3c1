"""Time and memory that a run has taken, summed over interruptions."""

import resource
import sys
import time
from pathlib import Path

from leads.training.run import Run


class Clock:
    """Writes timing.jsonl, one line per epoch."""

    def __init__(self, run: Run, budget: int, samples: int):
        self.run, self.budget, self.first_samples = run, budget, samples
        before = run.read_lines("timing.jsonl")
        self.before = before[-1] if before else {"cpu_seconds": 0.0, "wall_seconds": 0.0}
        self.cpu, self.wall = time.process_time(), time.monotonic()
        self.steady: tuple[float, int] | None = None

    def tick(self, epoch: int, samples: int) -> dict[str, float]:
        """Notes an epoch; speed and time left leave the first one out, which compiles."""
        now = time.monotonic()
        line = {
            "epoch": epoch,
            "cpu_seconds": round(self.before["cpu_seconds"] + time.process_time() - self.cpu, 3),
            "wall_seconds": round(self.before["wall_seconds"] + now - self.wall, 3),
            "peak_rss_mb": round(peak_rss_mb(), 1),
        }
        self.run.append("timing.jsonl", line)
        since, done = self.steady or (self.wall, self.first_samples)
        rate = (samples - done) / max(now - since, 1e-9)
        self.steady = self.steady or (now, samples)
        left = max(self.budget - samples, 0) / max(rate, 1e-9)
        return {"budget": self.budget, "samples_per_second": rate, "seconds_left": left}


def peak_rss_mb() -> float:
    """The most memory this process has held; where Linux tells it, without what it inherited from its parent."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
