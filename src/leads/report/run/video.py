"""Writes pictures as MP4 and as a GIF that is light enough for a README."""

import io
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import imageio.v2 as imageio
import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image

from leads.report import style
from leads.training.checkpoint import write_whole

FPS, HELD = 25, 30
"""Pictures per second (a GIF counts time in hundredths of a second), and those for which the last one stays."""
GIF_BYTES = 3_000_000
"""Largest size of a GIF."""
CLEAR = 255
"""Index of the transparent colour in a GIF's palette, which has at most as many others."""
MOST_SKILLS = 119
"""Skills whose colours have a place in a GIF's palette."""
SAMPLED = 8
"""Pictures from which an adaptive palette is made, at most."""
NEAR = 8
"""Difference, of 256 levels, up to which two colours count as one; Pillow merges colours that are nearer."""

GifSizes = Sequence[tuple[int, int]]
"""(width in pixels, n of which every n-th picture is kept), tried in this order until a GIF is light enough."""
Palette = Callable[[list[Image.Image]], Image.Image]
"""Chooses a GIF's palette, given its pictures."""


def write_video(mp4: Path, gif: Path, pictures: Iterable[np.ndarray], palette: Palette, sizes: GifSizes) -> None:
    """Writes both files in one pass over the pictures, which are too many to keep at full size."""
    # otherwise imageio starts ffmpeg by a plain fork, which is unsafe beside JAX's threads
    os.environ.setdefault("IMAGEIO_FFMPEG_NO_PREVENT_SIGINT", "1")
    partial, small, picture = mp4.with_suffix(".partial.mp4"), [], None
    writer: Any
    try:
        with closing(imageio.get_writer(partial, format="FFMPEG", fps=FPS, codec="libx264", quality=7)) as writer:
            for picture in pictures:
                writer.append_data(picture)
                small.append(_resized(Image.fromarray(picture), sizes[0][0]))
            for _ in range(HELD - 1):
                writer.append_data(picture)
        partial.replace(mp4)
    finally:
        partial.unlink(missing_ok=True)
    write_whole(gif, light_gif(small, palette(small), sizes))


def _resized(picture: Image.Image, width: int) -> Image.Image:
    return picture.resize((width, round(width * picture.height / picture.width)), Image.Resampling.LANCZOS)


def light_gif(pictures: list[Image.Image], palette: Image.Image, sizes: GifSizes) -> bytes:
    """The first GIF below GIF_BYTES, or the last one that was tried."""
    data = b""
    for width, every in sizes:
        kept = [*pictures[:-1:every], pictures[-1]]
        data = gif_of([_resized(picture, width) for picture in kept], palette, every * 1000 // FPS)
        if len(data) < GIF_BYTES:
            break
    return data


def gif_of(pictures: list[Image.Image], palette: Image.Image, milliseconds: int) -> bytes:
    """All pictures in one palette, undithered, and transparent where nothing changed, which compresses best."""
    indices = [np.asarray(picture.quantize(palette=palette, dither=Image.Dither.NONE)) for picture in pictures]
    changes = [np.where(now == before, CLEAR, now).astype(np.uint8) for before, now in pairwise(indices)]
    first, *others = [Image.fromarray(index) for index in (indices[0], *changes)]
    for image in (first, *others):
        image.putpalette(palette.getpalette() or [])
    durations = [milliseconds] * (len(pictures) - 1) + [HELD * 1000 // FPS]
    options = {"duration": durations, "loop": 0, "optimize": False, "transparency": CLEAR, "disposal": 1}
    buffer = io.BytesIO()
    first.save(buffer, "GIF", save_all=True, append_images=others, **options)
    return buffer.getvalue()


def drawn_palette(skills: list[str]) -> Image.Image:
    """For drawings: every skill's colour mixed with white and with ink, and greys between these two."""
    white, ink = np.ones(3), np.asarray(to_rgb(style.INK))
    shades = max(2, min(12, 238 // len(skills)))
    mixed = [np.linspace(ink, white, 16)]
    for colour in skills[:MOST_SKILLS]:
        light = np.linspace(to_rgb(colour), white, shades - shades // 4, endpoint=False)
        dark = np.linspace(to_rgb(colour), ink, shades // 4 + 1, endpoint=False)[1:]
        mixed += [light, dark]
    return _palette(np.rint(255 * np.concatenate(mixed)))


def adaptive_palette(pictures: list[Image.Image], skills: list[str]) -> Image.Image:
    """For rendered pictures: white, ink, every skill's colour, and the pictures' colours that are not near these."""
    own = np.rint(255 * np.asarray([to_rgb(colour) for colour in ("white", style.INK, *skills[:MOST_SKILLS])]))
    sampled = np.concatenate([np.asarray(picture) for picture in pictures[:: ceil(len(pictures) / SAMPLED)]])
    found = np.reshape(Image.fromarray(sampled).quantize(CLEAR - len(own)).getpalette() or [], (-1, 3))
    others = found[np.abs(found[:, None] - own).max(axis=-1).min(axis=1) > NEAR]
    return _palette(np.concatenate([own, others]))


def _palette(colours: np.ndarray) -> Image.Image:
    image = Image.new("P", (1, 1))
    image.putpalette(colours.astype(np.uint8).tobytes())
    return image
