"""Objectives of every kind, and sentences that several tests expect."""

from paretofoil.core.command import Objective

FOOD = tuple(Objective(name) for name in ("protein", "carbs", "fats", "vitamins", "minerals", "water"))
GOLD = Objective("gold", natural_low=0.0)
ORE = Objective("ore 0", natural_low=0.0, natural_high=1.5)
BUDGET = Objective("fuel", cost=True, natural_high=-0.02)
STEPS = Objective("time", "steps", cost=True, natural_low=-100.0, natural_high=-1.0)
DEATH = Objective("death", cost=True, probability=True, natural_low=-1.0, natural_high=0.0)
DIAMOND = Objective("diamond", probability=True, natural_low=0.0, natural_high=1.0)

ASKED = "Asked for 8 treasure and 2 steps of time, the agent chooses right here (70 %; down has 20 %)."
LEFT = "With 8 treasure and 2 steps of time left, the agent chooses right here (70 %; down has 20 %)."
BOTH = (
    "Had you asked for 1.7 less treasure (6.3 instead of 8) and 0.3 fewer steps of time (1.7 instead of 2), "
    "the agent would have gone down instead of right."
)
LESS_TREASURE = (
    "Had you asked for 1.7 less treasure (6.3 instead of 8), the agent would have gone down instead of right."
)
SHARES = "Under that command down has 50 % and right 47.5 %."
TIME_STAYS = "The wish about time stays as it is."
OTHERS_STAY = "The other wishes stay as they are."
MARGIN = "that lets down win by a margin of 0.05"
SIZES = "its scaled size is 0.125, and none below 0.1241 does it; this is proven."
CLOSEST = f"This change is at most 0.73 % larger than the smallest one {MARGIN}: {SIZES}"
PERHAPS = "There may be a smaller change; that it is the smallest is not proven."
CAVEAT = "Such a command is something to ask for; it need not be achievable."
NEVER = "nder no command within its range would the agent have gone down here (by a margin of 0.05); this is proven."
RANGE = "That range is 7 to 9 treasure and 1 to 3 steps of time."
ODDS = "Only commands count under which down is at least 1.052 times as likely as any other action."
ELSEWHERE = "Ask about another foil or another moment, or widen what may be asked for."
NONE_FOUND = "No command was found under which the agent would have gone down instead of right here."
NOTHING_PROVEN = "9,001 queries were spent, which proves nothing."
TRY_EXACT = 'Try a larger budget, or, if the policy is white-box, search="exact".'
