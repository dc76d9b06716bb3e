"""What the paper prints, transcribed from its tables line by line and never from our code: the tests' own copy."""

COMPARISON = """
Branch      White-CW   35    7   20.0 [10.0,35.9]    0.270
Branch      CF-ZOO     35   25   71.4 [54.9,83.7]    0.416
B-Bottles   White-CW    8    2   25.0 [7.1,59.1]     0.017
B-Bottles   CF-ZOO      8    6   75.0 [40.9,92.9]    0.030
Collect     White-CW  136   29   21.3 [15.3,28.9]    0.514
Collect     CF-ZOO    136  136  100.0 [97.3,100.0]   0.444
DST         White-CW  136   14   10.3 [6.2,16.5]     0.014
DST         CF-ZOO    136   50   36.8 [29.1,45.1]    0.152
Fruit       White-CW   84   83   98.8 [93.6,99.8]    0.130
Fruit       CF-ZOO     84   84  100.0 [95.6,100.0]   0.121
Minecart    White-CW  240  116   48.3 [42.1,54.6]    0.098
Minecart    CF-ZOO    240  208   86.7 [81.8,90.4]    0.153
R-Gather    White-CW   10    0    0.0 [0.0,27.8]     --
R-Gather    CF-ZOO     10    4   40.0 [16.8,68.7]    1.186
R-Line      White-CW  148   71   48.0 [40.1,56.0]    0.380
R-Line      CF-ZOO    148  124   83.8 [77.0,88.9]    0.363
All         White-CW  797  322   40.4 [37.0,43.8]    --
All         CF-ZOO    797  637   79.9 [77.0,82.6]    --
"""
STRESS = """
Branch        44    30   68.2 [53.4,80.0]    0.466
B-Bottles      8     6   75.0 [40.9,92.9]    0.030
Collect      152   152  100.0 [97.5,100.0]   0.493
DST          243    70   28.8 [23.5,34.8]    0.641
Fruit        672   672  100.0 [99.4,100.0]   0.231
Minecart    1846  1341   72.6 [70.6,74.6]    0.360
R-Gather      29    10   34.5 [19.9,52.7]    1.131
R-Line       201   141   70.1 [63.5,76.0]    0.525
All         3195  2422   75.8 [74.3,77.3]    --
"""
DIAGNOSIS = """
success          2515   78.7 [77.3,80.1]   94.4 [93.5,95.2]
grid-infeasible   531   16.6 [15.4,18.0]   --
search-limited    149    4.7 [4.0,5.5]      5.6 [4.8,6.5]
"""
RECOVERED_AT_100K = 93
RUNTIME = """
Branch      White-CW   9.44
Branch      CF-ZOO    53.21
B-Bottles   White-CW   8.55
B-Bottles   CF-ZOO    53.08
Collect     White-CW   7.98
Collect     CF-ZOO    45.38
DST         White-CW   8.03
DST         CF-ZOO    48.11
Fruit       White-CW  10.21
Fruit       CF-ZOO    56.48
Minecart    White-CW   8.63
Minecart    CF-ZOO    48.71
R-Gather    White-CW  11.37
R-Gather    CF-ZOO    41.28
R-Line      White-CW   9.07
R-Line      CF-ZOO    47.49
All         White-CW   8.73
All         CF-ZOO    48.78
"""
BUDGETS = """
10000    19.1  0.8   19.0
20000    43.7  1.8   43.5
30000    60.5  2.5   60.4
50000   101.4  2.6  102.1
75000   108.4  3.5  107.3
100000  176.0  6.4  178.0
"""
CLAIMS = """
In practice, the explanations are usually sparse, changing 1 or 2 entries.
We recommend using 50k for the best compromise between results and time.
In panel (a), this direction is poorly aligned with a nearby valid region, while panel (c) shows that even an
apparently useful local direction does not guarantee success.
Even when the desired return command corresponded to a Pareto-optimal point, changing only the desired horizon could
sometimes produce unstable or unintuitive action choices.
For example, the learned Minecart environment front contained more Pareto-optimal solutions than reported for the
original implementation.
"""
SETTINGS = (21_000, 9_001, 16, 0.05, 1.0, 0.01, 0.001, 0, 200, 100_000)
"""Directions and queries of both studies, bisections, kappa, c, eta, h, seed; the grid's values; the large budget."""

NAMES = {
    "Branch": "branch-path",
    "B-Bottles": "breakable-bottles",
    "Collect": "collect-two",
    "DST": "deep-sea-treasure",
    "Fruit": "fruit-tree",
    "Minecart": "minecart",
    "R-Gather": "resource-gathering",
    "R-Line": "reward-line",
    "All": "all",
    "White-CW": "white-cw",
    "CF-ZOO": "cf-zoo",
}


def lines(table: str) -> list[list[str]]:
    """Its lines as cells; a rate is one with its interval."""
    return [line.replace(" [", "[").split() for line in table.strip().splitlines()]


def number(cell: str) -> float | None:
    return None if cell == "--" else float(cell)
