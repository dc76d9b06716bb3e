/** The controls of the map: its axes, a slider for each objective, the resulting probabilities, and the legend. */

import { work } from "./api.js";
import { colourOf, markOf } from "./colours.js";
import { announce, button, el, refill, save } from "./dom.js";
import { questionOf } from "./controller.js";
import { drawMark } from "./marks.js";
import { amountsAt, probabilities } from "./policy.js";
import { axesOf, regionOf, within, zoomOf } from "./search_region.js";
import { balanced, commandSliders } from "./sliders.js";
import { decisionOf } from "./state.js";
import { isSaved } from "./saved.js";
import { badge, whatChanges, commandText, doing, featuresText, percent, plainNumbers, short, sign, signed } from "./text.js";

/** Searches whose answers can be shown together on the map. */
const COMPARED = ["exact", "boundary", "cf-zoo", "nearest-front"];
/** Share of a range that one press of an arrow key moves. */
const NUDGE = 1 / 60;

/**
 * @param {import("./state.js").Store} store
 * @param {import("./controller.js").Controller} controller
 */
export function createSpaceControls(store, controller, canvas, onRelease) {
  const { agent } = store.get();
  const hasMap = agent.objectives.length > 1;
  const sliders = commandSliders(agent, agent.space, controller.moveProbe, onRelease);
  const text = el("p", { class: "probe-text" });
  const bars = el("ul", { class: "probe-bars", "aria-label": "What the agent would do" });
  const axes = agent.objectives.length > 2 ? axisChoice(agent, store) : null;
  const legend = el("ul", { class: "legend", "aria-label": "Legend" });
  const compare = button("Ask every search", () => askAll(store, compare), {
    title: "Show the answer of each search on the map",
  });
  const reach = button(
    "Go to the answer",
    () => (controller.moveProbe(store.get().answer.result.answer.quoted.command), onRelease()),
    {
      title: "Move your command to the answer",
    },
  );
  const reset = button("Reset", () => controller.moveProbe(null));

  const zoom = (factor) => store.set({ zoom: Math.max(1, zoomOf(store.get()) * factor) });
  const closer = button("+", () => zoom(2), { class: "round", title: "Zoom in", "aria-label": "Zoom in" });
  const wider = button("−", () => zoom(0.5), { class: "round", title: "Zoom out", "aria-label": "Zoom out" });

  /** Move the draggable command to these values of the two axes. */
  function moveTo(values) {
    const state = store.get();
    let probe = [...(state.probe || decisionOf(state).command)];
    axesOf(state).forEach(
      (i, k) => (probe = agent.space.kind === "simplex" ? balanced(probe, i, values[k]) : probe.with(i, values[k])),
    );
    controller.moveProbe(within(regionOf(agent, decisionOf(state)), probe));
  }

  function nudge(event) {
    const [across, up] =
      { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] || [];
    if (across === undefined) return;
    event.preventDefault();
    const state = store.get();
    const region = regionOf(agent, decisionOf(state));
    const probe = state.probe || decisionOf(state).command;
    const by = [across, up];
    moveTo(axesOf(state).map((i, k) => probe[i] + (by[k] * NUDGE * (region.high[i] - region.low[i])) / zoomOf(state)));
  }

  function show(state, region, probe, places) {
    sliders.limit(region);
    sliders.show(probe);
    axes?.show(axesOf(state));
    compare.hidden = typeof state.foil !== "number" || isSaved();
    reset.hidden = !state.probe;
    reach.hidden = !state.answer.result?.answer.quoted;
    const rest = agent.space.kind === "simplex" || !state.step ? "" : " from here on";
    text.textContent = agent.observation
      ? `With ${featuresText(agent.objectives, probe)}`
      : `Ask for ${plainNumbers(commandText(agent.objectives, probe))}${rest}`;
    const shares = agent.amounts ? null : sharesOf(state, probe);
    const amounts = agent.amounts && amountsOf(state, probe);
    if (shares) fillBars(bars, state, shares);
    if (amounts) fillAmounts(bars, agent, amounts);
    fillLegend(legend, state, places);
    closer.disabled = zoomOf(state) >= 64;
    wider.disabled = zoomOf(state) <= 1;
    const best = amounts
      ? `it ${doing(agent, { amounts })}`
      : shares
        ? agent.actions[shares.indexOf(Math.max(...shares))]
        : "";
    canvas.setAttribute(
      "aria-label",
      `Map of what the agent would do. ${text.textContent}: ${best}. Arrow keys move the ${whatChanges(agent)}.`,
    );
    if (document.activeElement === canvas) announce(`${text.textContent}: ${best}`);
  }

  const png = button("Save as PNG", () => canvas.toBlob((blob) => save(`${agent.name}-map.png`, blob)));
  return {
    sliders: el("div", { class: "space-controls" }, text, sliders.node),
    bars,
    tools: el(
      "div",
      { class: "space-tools" },
      axes?.node,
      el("div", { class: "buttons" }, hasMap && [closer, wider], reach, reset),
      hasMap && el("details", {}, el("summary", {}, "What the map shows"), legend, el("div", { class: "buttons" }, compare, png)),
    ),
    show,
    moveTo,
    nudge,
  };
}

function sharesOf(state, probe) {
  const decision = decisionOf(state);
  if (state.folded) return probabilities(state.folded, probe, decision.valid_actions);
  return state.probe ? null : decision.probabilities;
}

function amountsOf(state, probe) {
  if (state.folded) return amountsAt(state.agent, state.folded, probe);
  return state.probe ? null : decisionOf(state).amounts;
}

/** Show the amount of each dimension of continuous actions, within its range. */
function fillAmounts(list, agent, amounts) {
  list.replaceChildren(
    ...agent.amounts.map(({ name, unit, low, high }, i) =>
      el(
        "li",
        { class: "action", "data-action": name },
        el("span", { class: "swatch", "aria-hidden": "true", vars: { "--colour": colourOf(0) } }, badge(name)),
        el("span", { class: "action-name" }, name),
        el(
          "span",
          { class: "bar" },
          el("span", {
            class: "fill",
            vars: { "--share": (amounts[i] - low) / (high - low), "--colour": colourOf(0) },
          }),
        ),
        el("span", { class: "share", "data-amount": amounts[i] }, `${short(amounts[i], 3)} ${unit}`.trim()),
      ),
    ),
  );
}

function fillBars(list, state, shares) {
  const { valid_actions: valid } = decisionOf(state);
  const best = shares.indexOf(Math.max(...shares));
  list.replaceChildren(
    ...valid.map((action) => {
      const name = state.agent.actions[action];
      return el(
        "li",
        { class: `action${action === best ? " chosen" : ""}`, "data-action": name },
        el(
          "span",
          { class: "swatch", "aria-hidden": "true", vars: { "--colour": colourOf(action) } },
          sign(name) || name.charAt(0),
        ),
        el("span", { class: "action-name" }, name),
        el(
          "span",
          { class: "bar" },
          el("span", { class: "fill", vars: { "--share": shares[action], "--colour": colourOf(action) } }),
        ),
        el("span", { class: "share", "data-share": shares[action] }, percent(shares[action])),
      );
    }),
  );
}

function fillLegend(list, state, places) {
  const answers = [state.answer.result?.answer, ...Object.values(state.bySearch).map(({ answer }) => answer)];
  const searches = [...new Set(answers.filter((answer) => answer?.quoted).map((answer) => answer.search.name))];
  refill(
    list,
    [...places]
      .sort((a, b) => b.share - a.share)
      .map(({ action, share }) =>
        el(
          "li",
          {},
          el("span", { class: "patch", vars: { "--colour": colourOf(action) } }),
          `${signed(state.agent.actions[action])} ${percent(share)}`,
        ),
      ),
    state.agent.amounts && el("li", {}, "lines: commands with the same amount"),
    el("li", {}, el("span", { class: "dot-now" }), `current ${whatChanges(state.agent)}`),
    el("li", {}, el("span", { class: "ring" }), `${whatChanges(state.agent)} that you move`),
    !state.agent.observation && el("li", {}, el("span", { class: "square" }), "goals the agent has learned"),
    state.agent.objectives.length > 2 && el("li", {}, "(faint: differs in an objective that is not on the map)"),
    searches.map((search) => el("li", {}, markPicture(search), `answer of ${markOf(search).label}`)),
    state.answer.result?.answer.rollouts?.attainable?.command &&
      el("li", {}, markPicture("attainable"), markOf("attainable").label),
    state.answer.result?.answer.proven_range && el("li", {}, el("span", { class: "dashed" }), "proven range"),
  );
}

function markPicture(search) {
  const canvas = el("canvas", { width: 40, height: 40, class: "mark", "aria-hidden": "true" });
  drawMark(canvas.getContext("2d"), 20, 20, search, 14);
  return canvas;
}

function axisChoice(agent, store) {
  const selects = ["horizontal", "vertical"].map((label, k) => {
    const select = el(
      "select",
      { "aria-label": `Objective on the ${label} axis`, on: { change: () => choose(k, Number(select.value)) } },
      agent.objectives.map((objective, i) => el("option", { value: i }, objective.name)),
    );
    return select;
  });
  /** Choosing the objective of the other axis swaps the two. */
  function choose(k, i) {
    const axes = [...axesOf(store.get())];
    if (axes[1 - k] === i) axes[1 - k] = axes[k];
    axes[k] = i;
    store.set({ axes });
  }
  return {
    node: el("p", { class: "axis-choice" }, "Horizontal ", selects[0], " vertical ", selects[1]),
    show: (axes) => selects.forEach((select, k) => (select.value = String(axes[k]))),
  };
}

async function askAll(store, from) {
  const state = store.get();
  from.disabled = true;
  for (const search of COMPARED) {
    try {
      const result = await work("answers", questionOf(state, state.foil, { ...state.settings, search }));
      if (store.get().answer !== state.answer) break;
      store.set({ bySearch: { ...store.get().bySearch, [search]: result } });
    } catch (error) {
      announce(`${search}: ${error.message}`);
    }
  }
  from.disabled = false;
}
