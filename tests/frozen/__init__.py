"""What does not move while the code is put into fewer rooms: the wire's description, and every translated sentence.

A commit that changes one of the files here says in its message what changed and why.
"""
