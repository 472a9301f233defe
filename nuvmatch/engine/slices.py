"""Which pixels of a template belong together."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Places = tuple[Indices, Indices, Indices, Indices]


@dataclass(frozen=True)
class Slices:
    """The slices of a template as lists of places, slice after slice.

    The slices of one channel stand together, and every channel has the same pixels.
    """

    shape: tuple[int, int]
    starts: NDArray[np.int64]  # (slices + 1,) into ys and xs
    ys: NDArray[np.int64]
    xs: NDArray[np.int64]
    channel: NDArray[np.int64]  # (slices,): which plane of the image a slice reads

    @classmethod
    def from_labels(cls, labels: NDArray[np.int64]) -> "Slices":
        """Collect the places of each label of each channel.

        Parameters
        ----------
        labels : ndarray of shape (channels, height, width)
            0, 1, .. within each channel, every one in use; -1 where a pixel counts not.
        """
        counts, ys, xs, channel = [], [], [], []
        for c, plane in enumerate(labels):
            order = np.argsort(plane, axis=None, kind="stable")
            order = order[np.count_nonzero(plane < 0) :]
            counts.append(np.bincount(plane.ravel()[order]))
            channel.append(np.full(counts[-1].size, c))
            ys.append(order // plane.shape[1])
            xs.append(order % plane.shape[1])
        return cls(
            (labels.shape[1], labels.shape[2]),
            np.concatenate(([0], np.cumsum(np.concatenate(counts)))),
            np.concatenate(ys),
            np.concatenate(xs),
            np.concatenate(channel),
        )

    @classmethod
    def whole(cls, mask: NDArray[np.bool_], channels: int) -> "Slices":
        """Take all pixels under a mask (height, width) as one slice of each channel."""
        return cls.from_labels(np.tile(np.where(mask, 0, -1), (channels, 1, 1)))

    @property
    def places(self) -> Places:
        """The lists as the kernels take them."""
        return self.starts, self.ys, self.xs, self.channel

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Pixels of each slice."""
        return np.diff(self.starts)

    @cached_property
    def derived(self) -> NDArray[np.bool_]:
        """Which slices need no summing: the largest of a channel is what is left."""
        derived = np.zeros(self.counts.size, np.bool_)
        for c in range(self.channels):
            of_channel = np.flatnonzero(self.channel == c)
            derived[of_channel[np.argmax(self.counts[of_channel])]] = True
        return derived

    @property
    def channels(self) -> int:
        """Number of planes."""
        return int(self.channel[-1]) + 1

    @property
    def pixels(self) -> int:
        """Pixels of one channel that count."""
        return self.ys.size // self.channels

    @property
    def full(self) -> bool:
        """Whether every pixel of the template counts."""
        return self.pixels == self.shape[0] * self.shape[1]

    @cached_property
    def rows(self) -> "Slices":
        """All pixels that count, of one channel, with a slice for each row that has some."""
        d = self.pixels
        order = np.lexsort((self.xs[:d], self.ys[:d]))
        ys = self.ys[:d][order]
        starts = np.flatnonzero(np.diff(ys, prepend=-1))
        zeros = np.zeros(starts.size, np.int64)
        return Slices(self.shape, np.append(starts, d), ys, self.xs[:d][order], zeros)
