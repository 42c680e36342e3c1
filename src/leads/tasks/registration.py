"""Makes the tasks known to Gymnasium: gymnasium.make("leads/MazeHard-v0"), gymnasium.make("leads/FetchSlide-v0")."""

import farama_notifications
import gymnasium

from leads.tasks import TASKS


def register() -> None:
    """Registers all; a second time does nothing."""
    # Gymnasium-Robotics would print a notice about environments that are not used here.
    farama_notifications.notifications.pop("gymnasium_robotics", None)
    _register("Maze", "gymnasium_maze:MazeEnv", TASKS["maze-hard"].horizon)
    for name, entry in TASKS.items():
        if entry.module == "maze":
            _register(entry.environment, "gymnasium_maze:MazeEnv", entry.horizon, maze=name.removeprefix("maze-"))
        else:
            _register(entry.environment, f"{entry.module}:{entry.environment}", entry.horizon)


def _register(name: str, entry_point: str, horizon: int, **options: str) -> None:
    identifier = f"leads/{name}-v0"
    if identifier not in gymnasium.registry:
        gymnasium.register(identifier, f"leads.tasks.{entry_point}", max_episode_steps=horizon, kwargs=options)
