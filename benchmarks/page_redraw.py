"""How long the page takes to compute and paint its map of regions (61 x 61 nodes), measured in the page.

A slider of a third objective, or the zoom where there are two, changes the whole map each time, as dragging does.

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
WARM, DRAGS = 15, 60
DRAG = """async (drags) => {
  const { store } = window.paretofoil;
  const times = [];
  for (let k = 0; k < drags; k++) {
    await new Promise((next) => requestAnimationFrame(next));
    store.set({ zoom: 1 + (k % 30) / 10 });
    times.push(window.paretofoil.lastRedraw);
  }
  return times;
}"""


def redraws(page: Any) -> list[float]:
    """Milliseconds of each redraw, after the engine has compiled the code."""
    while page.evaluate("window.paretofoil?.lastRedraw ?? null") is None:
        page.wait_for_timeout(100)
    times: list[float] = page.evaluate(DRAG, WARM + DRAGS)
    return times[WARM:]


def main() -> None:
    with served() as address, browsed() as browser:
        for name, link in MOMENTS.items():
            page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
            page.goto(address + link)
            times = sorted(redraws(page))
            at_most = times[int(0.9 * len(times))]
            print(
                f"{name}: median {median(times):.1f} ms, nine of ten within {at_most:.1f} ms, fastest {times[0]:.1f} ms"
            )
            page.close()


if __name__ == "__main__":
    main()
