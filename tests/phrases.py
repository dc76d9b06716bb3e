"""Objectives of every kind, and sentences that several tests expect."""

from paretofoil.core.command import Objective

FOOD = tuple(Objective(name) for name in ("protein", "carbs", "fats", "vitamins", "minerals", "water"))
GOLD = Objective("gold", natural_low=0.0)
ORE = Objective("ore 0", natural_low=0.0, natural_high=1.5)
BUDGET = Objective("fuel", cost=True, natural_high=-0.02)
STEPS = Objective("time", "steps", cost=True, natural_low=-100.0, natural_high=-1.0)
DEATH = Objective("death", cost=True, probability=True, natural_low=-1.0, natural_high=0.0)
DIAMOND = Objective("diamond", probability=True, natural_low=0.0, natural_high=1.0)

CHOICE = "the agent chooses right in this state (probability 70 %, down 20 %)."
ASKED = f"Asked for 8 treasure in 2 steps, {CHOICE}"
LEFT = f"Asked for 8 treasure in 2 steps from here on, {CHOICE}"
BOTH = (
    "Had you asked for 1.7 less treasure (6.3 instead of 8) and 0.3 fewer steps (1.7 instead of 2), "
    "the agent would have gone down instead of right."
)
LESS_TREASURE = (
    "Had you asked for 1.7 less treasure (6.3 instead of 8), the agent would have gone down instead of right."
)
SHARES = "The probability of down is then 50 %, that of right 47.5 %."
TIME_STAYS = "Time is unchanged."
OTHERS_STAY = "The other objectives are unchanged."
PROVEN = "(proven, for a margin of 0.05)."
CLOSEST = f"No change that is more than 0.72 % smaller works {PROVEN}"
PERHAPS = "A smaller change may exist: none is ruled out."
CAVEAT = "The agent may not be able to achieve what this command asks for."
NEVER = "No command in the search region makes the agent choose down in this state"
RANGE = "The search region is 7 to 9 treasure in 1 to 3 steps."
ODDS = "With this margin, down must be at least 1.06 times as probable as any other action."
ELSEWHERE = "Try another foil, another step or a larger search region."
NONE_FOUND = "No command was found that makes the agent choose down in this state."
NOTHING_PROVEN = "The search used 9,001 queries; nothing is proven."
TRY_EXACT = 'Try a larger budget or, if the policy is white-box, search="exact".'
