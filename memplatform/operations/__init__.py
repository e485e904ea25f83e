"""What operators alone look at: whether the platform is well, what went wrong when, the jobs, and counts by hour."""
