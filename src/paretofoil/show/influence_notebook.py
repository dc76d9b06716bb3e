"""Influence as notebooks show it."""

from html import escape

from paretofoil.core.influence import Influence
from paretofoil.core.influence_profile import InfluenceProfile
from paretofoil.show.influence_figure import figure_influence
from paretofoil.show.influence_words import told_share
from paretofoil.show.notebook import card, embedded, heading, line
from paretofoil.show.palette import BLUE, GREEN, GREY

RIM = {"inert": GREEN, "decides": BLUE, "open": GREY}


def influence_html(found: Influence) -> str:
    """The sentence, and the share of each valid action."""
    rows = "".join(
        f"<tr><td>{escape(found.actions[share.action])}</td><td>{escape(told_share(share, found.samples))}</td></tr>"
        for share in found.shares
    )
    where = f"{found.agent}, t = {found.time}" if found.agent else f"t = {found.time}"
    title = f"{where}: does the wish matter?"
    return card(f"{heading(title)}{line(str(found))}<table>{rows}</table>", RIM[found.verdict])


def profile_html(profile: InfluenceProfile) -> str:
    """The picture of the profile, and what it says in words."""
    title = f"{profile.agent}: {len(profile.moments)} moments"
    words = f'<div style="white-space:pre-wrap">{escape(str(profile))}</div>'
    return card(heading(title) + embedded(figure_influence(profile), repr(profile)) + words, BLUE)
