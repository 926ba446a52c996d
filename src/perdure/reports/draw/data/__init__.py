"""What each kind of figure shows, computed once from the lifetimes: every renderer draws this and computes nothing.

What no lifetime has is None and stays so; forward and backward transfer are never in one number; and
each number comes with how many lifetimes have it.
"""
