"""Work that is larger than memory or than one process, by dask, which stays in here."""
