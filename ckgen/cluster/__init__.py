"""Spreading rows of work over processes, GPUs and machines: a pool runs the requests of a work on its workers and
streams the answers. The room knows neither kernels nor compilers; it imports only errors and paths, and dask only when
a cluster is asked for.
"""

__all__ = ["child", "connect", "gpus", "pool", "shards", "work"]
