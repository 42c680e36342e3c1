import io

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

import leads
from leads.report import style
from leads.report.run import video

SIZES = ((480, 1), (400, 1), (320, 1))


def test_a_gif_shows_every_picture_as_it_is():
    colours = style.palette(6)
    rng = np.random.default_rng(0)
    pictures = [np.full((20, 30, 3), 255, np.uint8)]
    for _ in range(5):
        picture = pictures[-1].copy()
        picture[rng.integers(20), rng.integers(30)] = np.rint(255 * np.asarray(to_rgb(colours[rng.integers(6)])))
        pictures.append(picture)
    data = video.gif_of([Image.fromarray(picture) for picture in pictures], video.drawn_palette(colours), 40)
    with Image.open(io.BytesIO(data)) as gif:
        for i, picture in enumerate(pictures):
            gif.seek(i)
            np.testing.assert_array_equal(np.asarray(gif.convert("RGB")), picture)


def test_a_gif_that_would_be_heavy_becomes_smaller(monkeypatch):
    rng = np.random.default_rng(0)
    pictures = [Image.fromarray(rng.integers(0, 255, (510, 480, 3), dtype=np.uint8)) for _ in range(3)]
    palette = video.drawn_palette(style.palette(6))
    heavy = len(video.gif_of(pictures, palette, 40))
    monkeypatch.setattr(video, "GIF_BYTES", heavy)
    light = video.light_gif(pictures, palette, SIZES)
    assert len(light) < heavy
    assert int.from_bytes(light[6:8], "little") == SIZES[1][0]


@pytest.mark.parametrize("n_skill", [1, 6, 12, 50, 300])
def test_a_gif_has_all_skills_colours_and_white(n_skill):
    colours = style.palette(n_skill)
    palette = np.reshape(video.drawn_palette(colours).getpalette(), (-1, 3))
    assert len(palette) <= video.CLEAR
    wanted = np.rint(255 * np.asarray([(1, 1, 1), *map(to_rgb, colours[: video.MOST_SKILLS])]))
    for colour in wanted:
        assert np.abs(palette - colour).sum(axis=1).min() == 0


def test_an_adaptive_palette_has_the_pictures_colours_and_the_skills():
    colours = style.palette(12)
    rng = np.random.default_rng(0)
    seen = rng.integers(0, 255, (40, 3), dtype=np.uint8)
    pictures = [Image.fromarray(rng.choice(seen, (30, 30))) for _ in range(20)]
    palette = np.reshape(video.adaptive_palette(pictures, colours).getpalette(), (-1, 3)).astype(int)
    assert len(palette) <= video.CLEAR
    own = np.rint(255 * np.asarray([to_rgb(colour) for colour in ("white", style.INK, *colours)]))
    for colour in (*own, *seen):
        assert np.abs(palette - colour).sum(axis=1).min() == 0
    noise = [Image.fromarray(rng.integers(0, 255, (99, 99, 3), dtype=np.uint8))]
    assert len(video.adaptive_palette(noise, style.palette(300)).getpalette() or []) <= 3 * video.CLEAR


def test_a_gif_may_keep_every_other_picture_at_the_same_pace(monkeypatch):
    shades = [0, 40, 80, 120, 160, 200]
    pictures = [Image.new("RGB", (40, 20), (shade,) * 3) for shade in shades]
    palette = video.adaptive_palette(pictures, style.palette(2))
    heavy = len(video.light_gif(pictures, palette, [(40, 1)]))
    monkeypatch.setattr(video, "GIF_BYTES", heavy)
    with Image.open(io.BytesIO(video.light_gif(pictures, palette, [(40, 1), (40, 2)]))) as gif:
        seen = [(gif.seek(i), gif.convert("RGB").getpixel((5, 5)), gif.info["duration"]) for i in range(gif.n_frames)]
    assert [colour[0] for _, colour, _ in seen] == [0, 80, 160, 200]
    assert [milliseconds for *_, milliseconds in seen] == [80, 80, 80, video.HELD * 40]


def test_a_film_that_breaks_off_leaves_no_file(tmp_path):
    def pictures():
        yield np.zeros((32, 32, 3), np.uint8)
        raise leads.UserError("enough")

    with pytest.raises(leads.UserError, match="enough"):
        video.write_video(
            tmp_path / "a.mp4", tmp_path / "a.gif", pictures(), lambda _: Image.new("P", (1, 1)), [(32, 1)]
        )
    assert not any(tmp_path.iterdir())
