# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ImageProcessor resizes like torch and PIL."""

import ctypes

import numpy as np
import pytest
import torch
from oracle.kernels.kernel_entry import newest_library
from oracle.tolerances import PIXEL_VALUES
from PIL import Image

SIZES = [((640, 480), (224, 224)), ((48, 64), (224, 160)), ((33, 17), (32, 19)), ((5, 400), (7, 3)), ((1, 1), (3, 2))]


def resized(pixels: np.ndarray, width: int, height: int) -> np.ndarray:
    """``pixels`` [h, w, 4] uint8 as [3, height, width] floats, by the newest build's library."""
    result = np.empty((3, height, width), np.float32)
    size = (ctypes.c_int32(pixels.shape[1]), ctypes.c_int32(pixels.shape[0]))
    target = (ctypes.c_int32(width), ctypes.c_int32(height))
    entry = ctypes.CDLL(str(newest_library("libimage_entry.so"))).resize_rgba
    assert entry(pixels.ctypes.data_as(ctypes.c_void_p), *size, *target, result.ctypes.data_as(ctypes.c_void_p)) == 0
    return result


def random_pixels(width: int, height: int) -> np.ndarray:
    return np.random.default_rng(width).integers(0, 256, (height, width, 4), dtype=np.uint8)


@pytest.mark.parametrize("size, target", SIZES)
def test_floats_equal_antialiased_interpolation_of_torch(size: tuple[int, int], target: tuple[int, int]) -> None:
    pixels = random_pixels(*size)
    image = torch.from_numpy(pixels[None, ..., :3]).permute(0, 3, 1, 2).double()
    expected = torch.nn.functional.interpolate(image, target[::-1], mode="bilinear", antialias=True)[0]
    np.testing.assert_allclose(resized(pixels, *target), expected.numpy(), atol=PIXEL_VALUES)


@pytest.mark.parametrize("size, target", SIZES)
def test_rounded_values_are_within_one_of_those_of_pil(size: tuple[int, int], target: tuple[int, int]) -> None:
    """PIL rounds to integers between its two passes; the processor does not round."""
    pixels = random_pixels(*size)
    image = Image.fromarray(pixels[..., :3]).resize(target, Image.Resampling.BILINEAR)
    expected = np.asarray(image, np.float32).transpose(2, 0, 1)
    assert np.abs(resized(pixels, *target) - expected).max() < 1.001
