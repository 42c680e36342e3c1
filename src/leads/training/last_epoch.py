"""The last finished epoch of a run, which is kept however training ends: interrupted, by a fault or as it should."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from leads.errors import UserError
from leads.training import checkpoint
from leads.training.epoch import TrainState
from leads.training.faults import named
from leads.training.run import Run


class LastEpoch:
    """What training has come to."""

    def __init__(self, run: Run, epoch: int, state: TrainState):
        """`epoch` is that of a checkpoint, or 0."""
        self._run, self._saved, self._finished = run, epoch, (epoch, state)

    @property
    def epoch(self) -> int:
        return self._finished[0]

    @property
    def state(self) -> TrainState:
        return self._finished[1]

    @property
    def samples(self) -> int:
        return int(self.state.samples)

    def move_on(self, epoch: int, state: TrainState) -> None:
        """To a further epoch, once it is in the logs."""
        self._finished = epoch, state  # at once, as an interruption may come in between

    def save(self) -> None:
        """Writes a checkpoint, if there is none of this epoch."""
        epoch, state = self._finished
        if epoch > self._saved:
            checkpoint.save(self._run.checkpoints, epoch, state)
            self._saved = epoch

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Saves it before anything is raised further; of a fault, says in which epoch it was and what is left."""
        try:
            yield
        except BaseException as error:
            with suppress(OSError):  # what happened first is what has to be told
                self.save()
            fault = named(error)
            if fault is None:
                raise
            left = f"the checkpoint of epoch {self._saved} is kept" if self._saved else "there is no checkpoint yet"
            raise UserError(f"epoch {self.epoch + 1}: {fault}; {left}") from error
