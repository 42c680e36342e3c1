"""Run directories written by hand, by the fixture that tests of reports use."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

spec = spec_from_file_location("report_conftest", Path(__file__).parents[1] / "report" / "conftest.py")
assert spec is not None and spec.loader is not None
report = module_from_spec(spec)
spec.loader.exec_module(report)
write_run = report.write_run
