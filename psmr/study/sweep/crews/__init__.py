"""Who carries out the points of a sweep: processes of this machine, or a Dask cluster."""
