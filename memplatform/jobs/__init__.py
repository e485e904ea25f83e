"""What runs by itself: the registry of jobs, their runs, the queue and its worker."""
