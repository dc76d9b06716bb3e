"""How long the page takes to compute and paint its map of regions (61 x 61 nodes), measured in the page.

Dragging redraws a draft, in which nodes that are clearly won all around are interpolated; once the hand rests, the
whole map is computed. The zoom stands for whatever is dragged: each time the whole map is another one.

python benchmarks/page_redraw.py
"""

from statistics import median
from typing import Any

from page_server import browsed, served

MOMENTS = {
    "deep-sea-treasure": "#agent=deep-sea-treasure&command=8,-8&time=5&explore=space",
    "minecart": "#agent=minecart&command=0,1.5,-0.96&time=5&explore=space",
    "fruit-tree": "#agent=fruit-tree&command=0.27,1.33,0.83,5.1,3.7,7.6&time=2&explore=space",
}
WARM, DRAGS, RESTS = 15, 60, 10
DRAG = """async ([drags, rests]) => {
  const { store } = window.paretofoil;
  const drafts = [], wholes = [];
  for (let k = 0; k < drags; k++) {
    await new Promise((next) => requestAnimationFrame(next));
    store.set({ zoom: 1 + (k % 30) / 10 });
    drafts.push(window.paretofoil.lastRedraw);
  }
  for (let k = 0; k < rests; k++) {
    store.set({ zoom: 1 + k / 10 });
    while (window.paretofoil.lastWhole === null) await new Promise((next) => setTimeout(next, 50));
    wholes.push(window.paretofoil.lastWhole);
  }
  return [drafts, wholes];
}"""


def redraws(page: Any) -> tuple[list[float], list[float]]:
    """Milliseconds of each draft and of each whole map, after the engine has compiled the code."""
    while page.evaluate("window.paretofoil?.lastRedraw ?? null") is None:
        page.wait_for_timeout(100)
    drafts, wholes = page.evaluate(DRAG, [WARM + DRAGS, RESTS])
    return drafts[WARM:], wholes


def told(times: list[float]) -> str:
    ordered = sorted(times)
    return (
        f"median {median(ordered):.1f} ms, 90 % within {ordered[int(0.9 * len(ordered))]:.1f}, fastest {ordered[0]:.1f}"
    )


def main() -> None:
    with served() as address, browsed() as browser:
        for name, link in MOMENTS.items():
            page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
            page.goto(address + link)
            drafts, wholes = redraws(page)
            print(f"{name}: while dragging {told(drafts)}; at rest {told(wholes)}", flush=True)
            page.close()


if __name__ == "__main__":
    main()
