"""The batched engine, which runs thousands of lifetimes as one program: `perdure run --engine batched`.

Everything but `engine.py` needs only JAX, NumPy and msgspec, since a machine with a GPU may offer no more.
Records leave as plain arrays; `engine.py` makes lifetimes of them on a machine with Polars.
"""
