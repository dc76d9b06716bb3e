"""The shipped agents with discrete actions."""

import paretofoil as pf

DISCRETE = [name for name in pf.list_agents() if pf.load_agent(name).actor is None]
