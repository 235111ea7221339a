"""Draws: names and shapes, the summary, files, tables and plots."""

import json
import os
import pickle
import sys

import numpy as np
import pytest

from probdiff.errors import DataError, ParameterError, ShapeError, UnsupportedError
from probdiff.sampling import Draws, Target, sample


def made(chains=2, draws=50, **changes):
    rng = np.random.default_rng(0)
    fields = {
        "posterior": {
            "mu": rng.normal(size=(chains, draws)),
            "theta": rng.normal(size=(chains, draws, 3)),
            "a.b": rng.normal(size=(chains, draws, 2, 2)),
            "k": rng.integers(0, 9, size=(chains, draws)),
        },
        "sample_stats": {
            "lp": rng.normal(size=(chains, draws)),
            "diverging": rng.random((chains, draws)) < 0.1,
            "n_steps": rng.integers(1, 9, size=(chains, draws)),
        },
        "observed": {"y": np.arange(3.0)},
        "dims": {"theta": ("school",)},
        "coords": {"school": ["A", "B", "Ö"]},
        "attrs": {"seed": 2**70, "partial": False, "sampling_time": 0.1},
        "notes": ("a note",),
    }
    return Draws(**(fields | changes))


def test_repr():
    assert repr(made(attrs={"partial": True})) == (
        "Draws: 2 chains x 50 draws (partial)\n"
        "  mu     scalar\n"
        "  theta  (school: 3)\n"
        "  a.b    (2, 2)\n"
        "  k      scalar\n"
        "  ! a note"
    )


def test_scalars_are_labelled_by_coordinates():
    draws = made()
    scalars = draws.scalars()
    assert list(scalars) == [
        "mu", "theta[A]", "theta[B]", "theta[Ö]", "a.b[0, 0]", "a.b[0, 1]", "a.b[1, 0]", "a.b[1, 1]", "k",
    ]  # fmt: skip
    np.testing.assert_array_equal(scalars["a.b[1, 0]"], draws["a.b"][:, :, 1, 0])


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"posterior": {"chain": np.zeros((1, 2))}}, "'chain' is the name of the chain axis. Rename the variable."),
        (
            {"posterior": {"a/b": np.zeros((1, 2))}},
            "'a/b' has a slash, which separates groups in ArviZ. Rename the variable.",
        ),
        (
            {"posterior": {"site": np.zeros((1, 2, 3))}, "dims": {"site": ("site",)}},
            "'site' is both a variable and a dimension. Rename one of them.",
        ),
        ({"dims": {"theta": ("draw",)}}, "'draw' is the name of the draw axis. Rename the dimension."),
        ({"posterior": {}}, "Draws.posterior must have a variable, got none"),
    ],
)
def test_names_that_would_lose_a_variable(changes, text):
    with pytest.raises(ParameterError) as caught:
        made(**changes)
    assert str(caught.value) == text


def test_axes_that_differ():
    with pytest.raises(ShapeError) as caught:
        made(posterior={"mu": np.zeros((2, 50)), "x": np.zeros(50)})
    assert str(caught.value) == "Draws: 'x' must have axes (chain, draw) = (2, 50), got (50,)"


def test_unknown_name():
    with pytest.raises(KeyError, match="'nu' is not among the variables mu, theta, a.b, k"):
        made()["nu"]


def test_summary_numbers_and_text():
    draws = made(4, 1000)
    summary = draws.summary(["mu", "theta"])
    assert list(summary) == ["mu", "theta[A]", "theta[B]", "theta[Ö]"]
    row = summary["mu"]
    assert list(row) == ["mean", "sd", "mcse", "ess_bulk", "ess_tail", "r_hat"]
    assert row["mean"] == draws["mu"].mean()
    assert row["sd"] == draws["mu"].std(ddof=1)
    # Independent draws: as many effective ones, within 15 %.
    assert row["ess_bulk"] == pytest.approx(4000, rel=0.15)
    assert row["mcse"] == pytest.approx(row["sd"] / 4000**0.5, rel=0.1)
    assert row["r_hat"] == pytest.approx(1, abs=0.005)
    lines = repr(summary).splitlines()
    assert lines[0].split() == ["mean", "sd", "mcse", "ess_bulk", "ess_tail", "r_hat"]
    assert lines[1].startswith("mu ") and len({len(line) for line in lines[:5]}) == 1
    assert lines[-1] == "! a note"


def test_summary_flags_chains_that_differ():
    x = np.random.default_rng(0).normal(size=(4, 500)) + np.arange(4)[:, None]
    notes = made(posterior={"x": x}, sample_stats={}, notes=()).summary().notes
    assert notes[0].startswith("The chains have not converged: R-hat is above 1.01 for 1 of 1, worst x (")
    assert notes[1].startswith("Effective sample size is below 400 for 1 of 1, least x (")


def test_summary_of_constants_of_nan_and_of_one_chain():
    x = np.random.default_rng(0).normal(size=(1, 50))
    draws = made(posterior={"x": x, "one": np.ones((1, 50)), "bad": x * np.nan}, sample_stats={})
    summary = draws.summary()
    assert all(np.isfinite(v) for v in summary["x"].values())
    assert summary["one"]["mean"] == 1 and summary["one"]["sd"] == 0 and np.isnan(summary["one"]["r_hat"])
    assert repr(summary).splitlines()[2].split() == ["one", "1.000", "0.000", "-", "-", "-", "-"]


def test_summary_as_a_rich_table(capsys):
    from rich.console import Console

    Console(width=120).print(made().summary())
    shown = capsys.readouterr().out
    assert "theta[A]" in shown and "ess_bulk" in shown and "a note" in shown


def test_a_file_gives_back_every_bit(tmp_path):
    model = Target(lambda q: (-0.5 * float(q @ q), -q), 3)
    for draws in (made(), sample(model, 20, 20, 2, seed=0, keep_warmup=True)):
        path = tmp_path / "draws.npz"
        draws.save(path)
        again = Draws.load(path)
        for group in ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats", "observed", "coords"):
            before, after = getattr(draws, group), getattr(again, group)
            assert list(before) == list(after)
            for name, x in before.items():
                assert x.dtype == after[name].dtype and x.shape == after[name].shape
                assert x.tobytes() == after[name].tobytes()
        assert (again.dims, again.attrs, again.notes) == (draws.dims, draws.attrs, draws.notes)
        assert os.listdir(tmp_path) == ["draws.npz"]


def test_a_pickle_keeps_the_draws_but_not_the_model():
    model = Target(lambda q: (-0.5 * float(q @ q), -q), 3)
    draws = sample(model, 20, 20, 2, seed=0)
    assert draws.model is model and len(draws.divergences) == 0
    again = pickle.loads(pickle.dumps(draws))
    np.testing.assert_array_equal(again["x"], draws["x"])
    assert again.model is None and again.attrs == draws.attrs and again.with_model(model).model is model


def test_names_of_any_kind_survive_a_file(tmp_path):
    names = ["a.b", "shift", "x[0]", "α β", "..", "page", "npz"]
    made(posterior={name: np.full((2, 50), i) for i, name in enumerate(names)}).save(tmp_path / "d")
    again = Draws.load(tmp_path / "d")
    assert [(name, int(again[name][0, 0])) for name in again.posterior] == [(n, i) for i, n in enumerate(names)]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "draws.npz"
    made().save(path)
    before = path.read_bytes()
    with pytest.raises(DataError) as caught:
        made(coords={"school": np.array([object(), 1, 2])}).save(path)
    assert str(caught.value) == "Draws.save: coords['school'] holds Python objects. Give numbers or strings."
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["draws.npz"]


def test_a_save_that_breaks_half_way_leaves_no_trace(tmp_path, monkeypatch):
    def full_disk(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="disk full"):
        made().save(tmp_path / "draws.npz")
    assert os.listdir(tmp_path) == []


def test_files_that_are_something_else(tmp_path):
    path = tmp_path / "x.npz"
    with pytest.raises(FileNotFoundError, match="Draws.load: there is no file"):
        Draws.load(path)
    path.write_text("text")
    with pytest.raises(DataError, match=r"is not a file of Draws.save \(no npz archive\)"):
        Draws.load(path)
    np.savez(path, x=np.ones(3))
    with pytest.raises(DataError, match=r"is not a file of Draws.save \(no page\)"):
        Draws.load(path)
    page = json.dumps({"format": "probdiff.Draws", "version": 99}).encode()
    np.savez(path, page=np.frombuffer(page, dtype=np.uint8))
    with pytest.raises(DataError, match="has format 'probdiff.Draws' version 99; this probdiff reads"):
        Draws.load(path)
    with pytest.raises(FileNotFoundError, match="Draws.save: there is no folder"):
        made().save(tmp_path / "no" / "draws.npz")


def test_dataframe():
    frame = made().to_dataframe()
    assert list(frame.columns)[:4] == ["chain", "draw", "mu", "theta[A]"]
    assert frame.shape == (100, 11)
    assert frame["mu"][51] == made()["mu"][1, 1] and frame["chain"][51] == 1 and frame["draw"][51] == 1


def test_dataframe_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UnsupportedError) as caught:
        made().to_dataframe()
    assert str(caught.value) == "Draws.to_dataframe needs pandas. Install it with: pip install pandas"


@pytest.mark.parametrize("plot", ["plot", "plot_posterior"])
def test_plots_are_written(tmp_path, plot):
    x = np.random.default_rng(0).normal(size=(2, 50))
    draws = made(posterior={"x": x, "$x_": x, "one": np.ones((2, 50)), "bad": x * np.nan})
    getattr(draws, plot)(tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"


def test_plots_have_a_limit():
    draws = made(posterior={"x": np.zeros((1, 5, 100))}, sample_stats={})
    assert len(draws.plot_posterior().axes) == 40
    with pytest.raises(ParameterError) as caught:
        draws.plot(names=["x"])
    assert str(caught.value) == "Draws.plot draws at most 40 scalars, got 100. Give fewer names."
