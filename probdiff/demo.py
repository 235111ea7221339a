"""`probdiff demo`: two posteriors of real data, sampled, summarised and drawn."""

from __future__ import annotations

import time
from pathlib import Path


def demo(out: Path, seed: int) -> None:
    """Sample the eight schools and a regression; print summaries; write trace and posterior plots to `out`."""
    from rich.console import Console

    from probdiff.models.zoo import eight_schools, kidscore_momhsiq
    from probdiff.sampling import sample

    console = Console()
    out.mkdir(parents=True, exist_ok=True)
    stories = (
        ("eight_schools", eight_schools, "Does coaching raise test scores? Eight schools, non-centred (Rubin 1981)."),
        ("kidscore_momhsiq", kidscore_momhsiq, "Children's test scores against their mothers' schooling and IQ."),
    )
    for name, model, story in stories:
        console.print(f"\n[bold]{name}[/bold]: {story}")
        start = time.perf_counter()
        draws = sample(model(), draws=1000, tune=1000, chains=4, seed=seed)
        console.print(f"4 chains of 1000 draws in {time.perf_counter() - start:.1f} s")
        console.print(str(draws.summary()), highlight=False, markup=False)
        for kind, plot in (("trace", draws.plot), ("posterior", draws.plot_posterior)):
            path = out / f"{name}-{kind}.png"
            plot(path)
            console.print(f"wrote {path}", highlight=False, soft_wrap=True)
