"""The list of mutants fits the code: every fault can be put in, and the tests named with it exist."""

import shutil
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = spec_from_file_location("mutants", ROOT / "studies" / "mutants.py")
assert spec is not None and spec.loader is not None
study = module_from_spec(spec)
spec.loader.exec_module(study)
MUTANTS = study.mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_the_code_in_one_place(mutant, tmp_path: Path):
    original = ROOT / "src" / "leads" / mutant.file
    copy = tmp_path / "leads" / mutant.file
    copy.parent.mkdir(parents=True)
    shutil.copy(original, copy)
    mutant.written(tmp_path)
    assert copy.read_text() != original.read_text()
    assert all((ROOT / test.partition("::")[0]).is_file() for test in mutant.tests)
    compile(copy.read_text(), str(copy), "exec")


def test_names_are_used_once():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_a_mutant_whose_text_is_gone_is_refused(tmp_path: Path):
    mutant = MUTANTS[0]
    (tmp_path / "leads" / mutant.file).parent.mkdir(parents=True)
    (tmp_path / "leads" / mutant.file).write_text("other code")
    with pytest.raises(ValueError, match="stands 0 times"):
        mutant.written(tmp_path)
