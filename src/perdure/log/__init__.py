"""What was lived, kept: journals written, logs of every kind read, checked and exported."""

from perdure.log.l2logger import L2LOGGER
from perdure.log.learnkit import LEARNKIT
from perdure.log.read import READERS, read
from perdure.log.table import TABLE

__all__ = ["READERS", "read"]

for _reader in (L2LOGGER, LEARNKIT, TABLE):  # in the order in which they are asked
    READERS.add(_reader.name, _reader)
