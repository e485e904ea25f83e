"""What a recall answers with: whether it is enough, its context, and why each memory is in it or not."""
