"""Jobs: the registry, their runs and pages, the task queue, and the watchdog of its workers."""
