"""Which pixels of a template belong together."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Places = tuple[Indices, Indices, Indices, Indices]


@dataclass(frozen=True, eq=False)
class Slices:
    """The slices of a template.

    Those of one channel stand together, and every channel has the same pixels. Pixels
    that do not count are one more slice of each channel, its `outside`; these stand last.
    """

    labels: Indices  # (channels, height, width): 0, 1, .. in each channel, all in use, or -1

    @classmethod
    def of_mask(cls, mask: NDArray[np.bool_], channels: int) -> "Slices":
        """Take all pixels under a mask (height, width) as one slice of each channel."""
        return cls(np.tile(np.where(mask, 0, -1), (channels, 1, 1)))

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.labels.shape[1], self.labels.shape[2]

    @property
    def channels(self) -> int:
        """Number of planes."""
        return len(self.labels)

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """Where pixels count."""
        return np.asarray(self.labels[0] >= 0)

    @cached_property
    def pixels(self) -> int:
        """Pixels of one channel that count."""
        return int(np.count_nonzero(self.mask))

    @property
    def full(self) -> bool:
        """Whether every pixel of the template counts."""
        return self.pixels == self.mask.size

    @cached_property
    def merged(self) -> "Slices":
        """All slices of a channel as one."""
        return Slices.of_mask(self.mask, self.channels)

    @cached_property
    def slices_per_channel(self) -> list[int]:
        """Number of slices of each channel."""
        return [int(plane.max()) + 1 for plane in self.labels]

    @cached_property
    def channel_of_slice(self) -> Indices:
        """Plane that each slice reads."""
        return np.repeat(np.arange(self.channels), self.slices_per_channel)

    @cached_property
    def counts(self) -> Indices:
        """Pixels of each slice."""
        return np.diff(self.places[0])

    @cached_property
    def places(self) -> Places:
        """Where each slice starts in lists of rows and columns; the lists; its channel."""
        counts, ys, xs = [], [], []
        for plane in self.labels:
            order = order_of(plane.ravel())
            order = order[np.count_nonzero(plane < 0) :]
            counts.append(np.bincount(plane.ravel()[order]))
            ys.append(order // plane.shape[1])
            xs.append(order % plane.shape[1])
        starts = np.concatenate(([0], np.cumsum(np.concatenate(counts))))
        return starts, np.concatenate(ys), np.concatenate(xs), self.channel_of_slice

    @cached_property
    def left_over(self) -> list[int]:
        """The largest slice of each channel: what the sums of the others leave over."""
        slices = [np.flatnonzero(self.channel_of_slice == c) for c in range(self.channels)]
        return [int(own[np.argmax(self.counts[own])]) for own in slices]

    @cached_property
    def summed(self) -> list[int]:
        """All other slices."""
        return [k for k in range(self.counts.size) if k not in self.left_over]

    @cached_property
    def _inside(self) -> NDArray[np.int64]:
        return self.labels.reshape(self.channels, -1) if self.full else self.labels[:, self.mask]

    def means(self, greys: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of each slice, of the greys (channels, pixels) that count of a window."""
        sums = [np.bincount(labels, own) for labels, own in zip(self._inside, greys, strict=True)]
        return np.asarray(np.concatenate(sums) / self.counts)


def order_of(labels: Indices) -> Indices:
    """Sort labels, equal ones as they stand: if they fit 16 bits NumPy does so by counting."""
    narrow = labels.astype(np.int16) if labels.size and labels.max() < 2**15 else labels
    return np.argsort(narrow, kind="stable")
