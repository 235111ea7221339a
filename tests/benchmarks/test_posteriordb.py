"""The benchmark of posteriors: how it judges draws, its arithmetic, and what it does with the missing and the wrong."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from probdiff.benchmarks import posteriordb
from probdiff.benchmarks.posteriors import contenders
from probdiff.benchmarks.posteriors.contenders import NUTPIE, OURS, STANLI, STANLI_DENSE, Ours
from probdiff.benchmarks.posteriors.judge import judge
from probdiff.benchmarks.posteriors.outcome import Outcome, Table, geometric_mean, middle
from probdiff.benchmarks.posteriors.reference import REFERENCES, stan_schemes
from probdiff.benchmarks.posteriors.tables import beside_stan, markdown, summary, verdict, write_plot
from probdiff.models.zoo import MODELS

KNOWN = {"x": {"mean": np.array([0.0, 5.0]), "sd": np.array([1.0, 2.0]), "mcse_mean": np.zeros(2)}}


def normal_draws() -> np.ndarray:
    """Independent draws of N(0, 1) and N(5, 2²): 4 chains of 1000."""
    return np.array([0.0, 5.0]) + np.array([1.0, 2.0]) * np.random.default_rng(1).normal(size=(4, 1000, 2))


def outcome(posterior: str, contender: str = OURS, **figures: Any) -> Outcome:
    figures = {"sampling": 1.0, "ess_bulk": 1000.0, "gradients": 4000.0, "warmup_gradients": 1000.0} | figures
    return Outcome(posterior, contender, **figures)


def test_independent_draws_are_judged_good() -> None:
    found = judge({"x": normal_draws()}, KNOWN)
    # Of 4000 independent draws; the estimate's own error is a few per cent.
    assert 3400 < found.ess_bulk < 4600 and 3400 < found.ess_tail < 4600
    assert found.r_hat < 1.01 and found.z_mean < 3 and found.z_sd < 3


def test_z_is_the_distance_in_standard_errors_of_both() -> None:
    x = normal_draws()
    known = {"x": {**KNOWN["x"], "mcse_mean": np.array([1.0, 1.0]), "mcse_sd": np.array([3.0, 4.0])}}
    shifted = {"x": {**known["x"], "mean": x.mean(axis=(0, 1)) - [1.0, 6.0], "sd": x.std(axis=(0, 1)) + [9.0, 4.0]}}
    found = judge({"x": x}, shifted)
    # The errors of the draws, about 0.03, add a thousandth in quadrature.
    assert found.z_mean == pytest.approx(6.0, rel=2e-3) and found.z_sd == pytest.approx(3.0, rel=2e-3)
    assert judge({"x": x}, shifted, doubtful=("x",)).z_mean == 0.0


def test_a_chain_that_stands_still_has_no_effective_draws() -> None:
    found = judge({"x": np.broadcast_to([0.1, 5.0], (4, 100, 2))}, KNOWN)
    assert found.ess_bulk == 0.0 and found.r_hat == math.inf and found.z_mean == math.inf


@pytest.mark.parametrize("name", sorted(set(MODELS) | set(REFERENCES)))
def test_every_model_has_its_reference(name: str) -> None:
    posterior = MODELS[name]()
    values = posterior.complete(posterior.constrain(np.zeros(posterior.dim)))
    for variable, known in REFERENCES[name].moments().items():
        assert known["mean"].shape == np.shape(values[variable]), variable
        assert np.all(known["sd"] > 0), variable


def test_rows_of_a_matrix_are_stacked() -> None:
    moments = REFERENCES["hmm_example"].moments()["transition"]
    assert np.allclose(moments["mean"].sum(axis=1), 1) and moments["mean"].shape == (2, 2)


def test_stan_schemes_are_of_models() -> None:
    schemes = stan_schemes()
    assert len(schemes) == 23 and set(schemes) <= set(MODELS)
    # 2370 effective draws of 37,877 gradients in warm-up and 31,130 after it.
    assert schemes["eight_schools"].diagonal == pytest.approx(1000 * 2370 / (37877 + 31130), rel=1e-3)
    assert schemes["eight_schools"].better == schemes["eight_schools"].diagonal > 28


@pytest.mark.parametrize("name", [name for name in posteriordb.COMPARED if name != "hmm_example"])
def test_stan_has_our_density(name: str) -> None:
    """Log-densities of its program and of our model differ by a constant; a simplex has other coordinates in Stan."""
    pytest.importorskip("stanli", reason="stanli is not installed")
    module = posteriordb.module_of(name)
    ours = Ours(name, None, SimpleNamespace())
    theirs = contenders.Stanli(name, module, SimpleNamespace(**module.data()))
    points = 0.1 * np.random.default_rng(2).normal(size=(3, ours.posterior.dim)) + ours.somewhere / 3
    difference = [theirs.logdensity(q) - ours.logdensity(q) for q in points]
    # Some of these points are far from the posterior, and Stan solves the differential equation only roughly.
    scale = max(abs(ours.logdensity(q)) for q in points)
    assert np.ptp(difference) < scale * (1e-3 if name == "lotka_volterra" else 1e-9)


def test_effective_draws_by_gradient_and_second() -> None:
    o = outcome("ar5", sampling=2.0)
    assert o.ess_per_1000 == 200.0 and o.ess_per_second == 500.0


def test_who_disagrees_is_not_compared() -> None:
    wrong_mean = outcome("ar5", STANLI, z_mean=5.1).checked(1e-6)
    wrong_density = outcome("ar5", NUTPIE, density_error=1e-5).checked(1e-6)
    assert wrong_mean.failure == "disagrees: a mean is 5.1 standard errors from the reference"
    assert wrong_density.failure == "disagrees: log-densities differ by 1e-05"
    assert outcome("ar5", density_error=math.nan).checked(1e-6).failure
    assert outcome("ar5", r_hat=1.2).checked(1e-6).failure == "has not converged: R-hat is 1.20"
    assert outcome("ar5").checked(1e-6).failure == ""
    table = Table([outcome("ar5"), wrong_mean, wrong_density])
    assert table.times(STANLI) == {} and table.times(NUTPIE) == {}
    assert f"ar5, {STANLI}: {wrong_mean.failure}" in verdict(table)


def test_densities_may_differ_by_a_constant(tmp_path: Path) -> None:
    ours = tmp_path / "result.json"
    ours.write_text(json.dumps({"logdensity": [-10.0, -12.0, -20.0]}))
    assert posteriordb.density_error([90.0, 88.0, 80.0], ours) == 0.0
    assert posteriordb.density_error([90.0, 88.0, 80.5], ours) == pytest.approx(0.05)


def test_ratios_and_means() -> None:
    stan = stan_schemes()["garch11"]
    table = Table([
        outcome("garch11", gradients=500.0, warmup_gradients=500.0, sampling=0.1),  # 1000 effective draws of 1000
        outcome("garch11", STANLI, sampling=0.4),
        outcome("radon", sampling=0.9),
        outcome("radon", STANLI, sampling=0.1),
        outcome("radon", STANLI_DENSE, gradients=1000.0),
    ])  # fmt: skip
    assert table.times(STANLI) == pytest.approx({"garch11": 0.25, "radon": 9.0})
    assert table.times(STANLI, "ess_per_second") == pytest.approx({"garch11": 4.0, "radon": 1 / 9})
    # garch11 from the file; radon, which is not in it, from stanli's runs: 200 and 500 for a thousand, ours 200.
    assert table.over_stan()["garch11"] == pytest.approx((1000 / stan.diagonal, 1000 / stan.better))
    assert table.over_stan()["radon"] == pytest.approx((1.0, 0.4))
    assert [row[0] for row in beside_stan(table)] == ["garch11", "radon"]
    assert "time 1.500 and ESS/s 0.67 of stanli (2 posteriors)" in summary(table)
    assert "Faster than stanli: 1 of 2; slower for radon (0.11)" in verdict(table)
    assert geometric_mean([0.25, 9.0]) == pytest.approx(1.5)


def test_quick_runs_are_not_compared_with_figures_of_long_ones() -> None:
    assert Table([outcome("garch11")], stored=False).over_stan() == {}


def test_medians_over_seeds() -> None:
    runs = [outcome("ar5", sampling=t, ess_bulk=e) for t, e in ((1.0, 900.0), (3.0, 700.0), (2.0, 800.0))]
    assert (middle(runs).sampling, middle(runs).ess_bulk) == (2.0, 800.0)
    failed = replace(runs[1], failure="took longer")
    assert middle([runs[0], failed, runs[2]]) is failed


def test_a_missing_peer_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(posteriordb, "installed", lambda package: package != "nutpie")
    found = posteriordb.measure("ar5", NUTPIE, posteriordb.QUICK, tmp_path, 10)
    assert found.failure == "nutpie is not installed"


def test_a_broken_child_is_reported(tmp_path: Path) -> None:
    broken = posteriordb.QUICK._replace(chains=0)
    found = posteriordb.measure("ar5", OURS, broken, tmp_path / OURS, 60)
    assert "chains must be a positive integer" in found.failure


def test_unknown_names_are_refused() -> None:
    with pytest.raises(SystemExit, match="no posterior 'nothing': there are eight_schools, "):
        posteriordb.main(["--posteriors", "nothing"])


def test_a_run_writes_figures_table_plot_and_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench:posteriordb -->\n<!-- /bench:posteriordb -->\nafter\n")
    options = ["--quick", "--contenders", "probdiff", "--out", str(tmp_path), "--page", str(page)]
    assert posteriordb.main([*options, "--posteriors", "eight_schools"]) == 0
    [o] = [Outcome(**row) for row in json.loads((tmp_path / "posteriordb.json").read_text())["outcomes"]]
    assert o.failure == "" and 0 < o.ess_bulk < 2000 and o.z_mean < 5
    assert min(o.sampling, o.setup, o.call, o.memory, o.gradients, o.warmup_gradients) > 0
    assert o.source_to_draws > o.setup
    assert (tmp_path / "posteriordb.png").read_bytes().startswith(b"\x89PNG")
    assert "| eight_schools |" in page.read_text() and page.read_text().endswith("after\n")
    assert "eight_schools" in capsys.readouterr().out
    # Another posterior later: what was found before is kept.
    assert posteriordb.earlier(tmp_path / "posteriordb.json", posteriordb.QUICK._asdict() | {"seeds": 1}) == [o]
    with pytest.raises(SystemExit, match="leave --keep out"):
        posteriordb.earlier(tmp_path / "posteriordb.json", posteriordb.Settings()._asdict() | {"seeds": 1})
    assert posteriordb.merged([outcome("ar5"), o], [outcome("ar5", sampling=7.0)])[1].sampling == 7.0


def test_the_plot_and_the_page_show_peers(tmp_path: Path) -> None:
    table = Table(
        [outcome("garch11", sampling=0.5), outcome("garch11", STANLI), outcome("garch11", NUTPIE, failure="x")]
    )
    write_plot(tmp_path / "plot.png", table)
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "| garch11 | 500 ms | 1 s (0.5) | – | – | – |" in markdown(table, "settings")
