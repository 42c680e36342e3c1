"""Action noise over an episode: white, or pink (1/f), both with unit variance at every step."""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

Colour = Literal["pink", "white"]
EXPONENTS = {"pink": 1.0, "white": 0.0}


def coloured_noise(key: PRNGKeyArray, colour: Colour, shape: tuple[int, ...]) -> Float[Array, "*batch time action"]:
    """Gaussian noise with power 1/f^beta along the time axis (the last but one), independent elsewhere."""
    beta = EXPONENTS[colour]
    if beta == 0.0 or shape[-2] < 2:
        return jax.random.normal(key, shape)
    *batch, time, action = shape
    frequencies = np.fft.rfftfreq(time)
    frequencies[0] = frequencies[1]
    amplitude = frequencies ** (-beta / 2)
    # variance of the inverse transform: every frequency but 0 and Nyquist counts twice
    counts = np.full(len(amplitude), 2.0)
    counts[0] = 1.0
    if time % 2 == 0:
        counts[-1] = 1.0
    amplitude = amplitude * time / np.sqrt(np.sum(counts * amplitude**2))
    real, imaginary = jax.random.normal(key, (2, *batch, action, len(amplitude)))
    # frequency 0 and Nyquist have no imaginary part
    single = jnp.asarray(counts == 1.0)
    spectrum = jnp.where(single, real, (real + 1j * imaginary) / np.sqrt(2.0)) * amplitude
    return jnp.moveaxis(jnp.fft.irfft(spectrum, n=time, axis=-1), -1, -2).astype(jnp.float32)
