"""Makes the tasks known to Gymnasium: gymnasium.make("leads/MazeHard-v0"), gymnasium.make("leads/FetchSlide-v0")."""

import gymnasium

from leads.tasks.maze import HORIZON, MAZES

ROBOTS = {
    "FetchReach": ("fetch", 200),
    "FetchSlide": ("fetch", 50),
    "Finger": ("finger", 50),
    "Hand": ("hand", 50),
    "HalfCheetah": ("locomotion", 500),
    "Ant": ("locomotion", 200),
    "Humanoid": ("locomotion", 200),
}
"""The module and the horizon of each class; the module is imported when one is made."""


def register() -> None:
    """Registers all; a second time does nothing."""
    maze = "leads.tasks.gymnasium_maze:MazeEnv"
    _register("leads/Maze-v0", maze, HORIZON)
    for name in MAZES:
        _register(f"leads/Maze{name.capitalize()}-v0", maze, HORIZON, maze=name)
    for name, (module, horizon) in ROBOTS.items():
        _register(f"leads/{name}-v0", f"leads.tasks.{module}:{name}", horizon)


def _register(identifier: str, entry_point: str, horizon: int, **options: str) -> None:
    if identifier not in gymnasium.registry:
        gymnasium.register(identifier, entry_point, max_episode_steps=horizon, kwargs=options)
