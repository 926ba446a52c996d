__version__: str
__all__: list[str]

from perdure.classic.learnkit.writer import write_learnkit as write_learnkit
from perdure.curves.model import Curve as Curve
from perdure.curves.model import Prep as Prep
from perdure.curves.prepare import smooth as smooth
from perdure.errors import LogError as LogError
from perdure.errors import PerdureError as PerdureError
from perdure.errors import RecordError as RecordError
from perdure.gather.model import Survey as Survey
from perdure.gather.survey import score as score
from perdure.gather.survey import survey as survey
from perdure.log.accuracy_matrix import AccuracyMatrix as AccuracyMatrix
from perdure.log.accuracy_matrix import MatrixLifetime as MatrixLifetime
from perdure.log.check import check_log
from perdure.log.formats.matrix import matrix_lifetime as matrix_lifetime
from perdure.log.formats.matrix import read_matrix as read_matrix
from perdure.log.model import Lifetime as Lifetime
from perdure.log.problem import Check as Check
from perdure.log.read import find as find
from perdure.log.read import lifetimes as lifetimes
from perdure.log.read import read as read
from perdure.log.write.bulk import write_lives as write_lives
from perdure.log.write.journal import Journal as Journal
from perdure.log.write.recorder import Recorder as Recorder
from perdure.metrics import METRICS as METRICS
from perdure.metrics.engine.declare import metric as metric
from perdure.metrics.engine.metric import Metric as Metric
from perdure.metrics.engine.metric import NoValue as NoValue
from perdure.metrics.engine.metric import Value as Value
from perdure.metrics.engine.score import Score as Score
from perdure.metrics.engine.settings import settings_for as settings_for
from perdure.reports.figures import FIGURES as FIGURES
from perdure.reports.figures import View as View
from perdure.reports.figures import draw as draw
from perdure.reports.figures import save
from perdure.reports.model import Report as Report
from perdure.reports.svg import Figure as Figure
from perdure.reports.write import write_report as write_report
from perdure.runner.lifetime import Life as Life
from perdure.runner.lifetime import live as live
from perdure.runner.runner import PreparedRun as PreparedRun
from perdure.runner.runner import RunResult as RunResult
from perdure.scenario.compose import compose as compose
from perdure.scenario.compose import single_of as single_of
from perdure.scenario.lint import LintReport as LintReport
from perdure.scenario.model import Block as Block
from perdure.scenario.model import Scenario as Scenario
from perdure.scenario.model import Task as Task
from perdure.scenario.sites import Site as Site
from perdure.scenario.syllabus import Syllabus as Syllabus
from perdure.scenario.syllabus import read_syllabus as read_syllabus
from perdure.scenario.syllabus import write_syllabus as write_syllabus
from perdure.settings import Settings as Settings
from perdure.stats.correlate import Correlations as Correlations
from perdure.stats.groups import groups as groups
from perdure.stats.model import Group as Group
from perdure.stats.plan import Plan as Plan
from perdure.stats.robust import interquartile_mean as interquartile_mean
from perdure.stats.robust import optimality_gap as optimality_gap
from perdure.stats.robust import performance_profile as performance_profile
from perdure.stats.robust import stratified_bootstrap as stratified_bootstrap
from perdure.stats.scored import GroupedSurvey as GroupedSurvey
from perdure.stats.systems import Comparisons as Comparisons
from perdure.tasks.logged import LogEpisodes as LogEpisodes
from perdure.verbs.compare import compare as compare
from perdure.verbs.correlate import correlate as correlate
from perdure.verbs.lint import ProtocolLint as ProtocolLint
from perdure.verbs.lint import lint as lint
from perdure.verbs.lint import lint_protocol as lint_protocol
from perdure.verbs.plan import plan as plan
from perdure.verbs.plan import with_cost as with_cost
from perdure.verbs.run import Evaluation as Evaluation
from perdure.verbs.run import PreparedProtocol as PreparedProtocol
from perdure.verbs.run import prepare_protocol as prepare_protocol
from perdure.verbs.run import run_protocol as run_protocol

check = check_log
save_figure = save
