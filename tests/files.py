"""Small images, and how they are put into files."""

from io import BytesIO

import numpy as np
import PIL.Image
import tifffile

from nuvmatch import io

STEPS = np.add.outer(np.arange(256) // 3 * 7 % 251, np.arange(300) // 5 * 11 % 239)
PHOTO = STEPS.astype(np.uint8)
GREY = np.random.default_rng(26).integers(0, 256, (20, 30), np.uint8)
RGB = np.random.default_rng(27).integers(0, 256, (20, 30, 3), np.uint8)


def encoded(image, kind, **options):
    buffer = BytesIO()
    PIL.Image.fromarray(image).save(buffer, kind, **options)
    return buffer.getvalue()


def tiff(image, **options):
    buffer = BytesIO()
    tifffile.imwrite(buffer, image, **{"photometric": "minisblack", **options})
    return buffer.getvalue()


def read(data, path, **options):
    path.write_bytes(data)
    return io.read_image(path, **options)
