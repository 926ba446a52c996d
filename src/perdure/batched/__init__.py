"""Living thousands of lives as one program: `perdure run --engine batched`, or `python -m perdure.batched`.

Nothing here, and nothing that it imports, needs more than JAX and NumPy, since a machine with a GPU may offer no more.
What is lived leaves as plain arrays; `engine.py` makes lifetimes of them, where Polars is.
"""
