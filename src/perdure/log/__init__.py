"""Write journals, and read, check and export logs of every kind."""

from perdure.log.blocks import in_order
from perdure.log.formats.l2logger import L2LOGGER
from perdure.log.read import READERS, Options, read
from perdure.log.rules import STANDARD_COLUMNS

__all__ = ["READERS", "STANDARD_COLUMNS", "Options", "in_order", "read"]

# Readers are tried in this order. Most logs are of the first kind, and the other readers are then not loaded.
READERS.add(L2LOGGER.name, L2LOGGER)
READERS.add_later("learnkit", "perdure.classic.learnkit:LEARNKIT")
READERS.add_later("bulk", "perdure.log.formats.bulk:BULK")
READERS.add_later("sb3", "perdure.log.formats.sb3:SB3")
READERS.add_later("tensorboard", "perdure.log.formats.trackers:TENSORBOARD")
READERS.add_later("wandb", "perdure.log.formats.trackers:WANDB")
READERS.add_later("mlflow", "perdure.log.formats.trackers:MLFLOW")
READERS.add_later("charts", "perdure.log.formats.trackers:CHARTS")
READERS.add_later("avalanche", "perdure.log.formats.trackers:AVALANCHE")
READERS.add_later("results", "perdure.log.formats.results:RESULTS")
READERS.add_later("evaluations", "perdure.log.formats.evaluations:EVALUATIONS")
READERS.add_later("matrix", "perdure.log.formats.matrix:MATRIX")
READERS.add_later("table", "perdure.log.formats.table:TABLE")
