/** The permanent link: the view as the fragment of the address. */

import { DEFAULT_SETTINGS } from "./state.js";

/** Options that links of earlier versions have as fields of their own. */
const EARLIER_OPTIONS = ["box", "kappa", "norm", "keep", "ranges", "sparse", "k", "min_change"];
const TABS = ["episode", "compare", "options"];

/**
 * Return the fragment, without its #.
 * @param {State} state
 */
export function writeLink(state) {
  if (!state.agent || state.view === "environments") return "";
  const fields = new URLSearchParams({ agent: state.agent.name });
  if (state.view === "episode" && state.episode) {
    fields.set("command", state.command.join(","));
    if (state.seed) fields.set("seed", String(state.seed));
    fields.set("step", String(state.step));
    if (typeof state.foil === "number") fields.set("foil", state.agent.actions[state.foil]);
    else if (state.foil)
      for (const [name, value] of Object.entries(state.foil))
        fields.set(name === "amount" ? "foil" : name, String(value));
    const { search, seconds, queries, options } = state.settings;
    if (search !== DEFAULT_SETTINGS.search) fields.set("search", search);
    if (seconds !== null) fields.set("seconds", String(seconds));
    if (queries !== null) fields.set("queries", String(queries));
    if (Object.keys(options).length) fields.set("options", JSON.stringify(options));
    if (state.explore) fields.set("explore", state.explore);
    if (state.axes) fields.set("axes", state.axes.join(","));
    if (state.zoom) fields.set("zoom", String(state.zoom));
    if (state.probe) fields.set("probe", state.probe.map((x) => Number(x.toPrecision(7))).join(","));
    if (state.explore === "compare" && state.comparison) fields.set("compare", JSON.stringify(state.comparison));
  }
  return fields.toString().replaceAll("%2C", ",");
}

/** @typedef {ReturnType<typeof readLink>} Link */

/**
 * Return what a link shows. Fields that cannot be read are left out, since people edit links and cut them off.
 * @param {string} hash with or without its #
 */
export function readLink(hash) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  if (!fields.get("agent")) return null;
  const options = readJson(fields.get("options"), {});
  for (const name of EARLIER_OPTIONS)
    if (fields.has(name)) options[name] = readJson(fields.get(name), fields.get(name));
  const explore = fields.get("explore");
  return {
    agent: fields.get("agent"),
    command: readNumbers(fields.get("command")),
    seed: readWhole(fields.get("seed")) ?? 0,
    step: readWhole(fields.get("step") ?? fields.get("time")) ?? 0, // links of earlier versions have a time
    foil: fields.get("foil"),
    outcome: fields.get("outcome"),
    share: Number(fields.get("share")) || null,
    settings: {
      search: fields.get("search") ?? DEFAULT_SETTINGS.search,
      seconds: readWhole(fields.get("seconds")),
      queries: readWhole(fields.get("queries")),
      options,
    },
    explore: TABS.includes(explore) ? explore : null,
    axes: readPair(fields.get("axes")),
    zoom: readWhole(fields.get("zoom")),
    probe: readNumbers(fields.get("probe")),
    comparison: readJson(fields.get("compare") ?? fields.get("beside"), null),
  };
}

function readJson(text, otherwise) {
  try {
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

function readNumbers(text) {
  if (!text) return null;
  const numbers = text.split(",").map(Number);
  return numbers.every(Number.isFinite) ? numbers : null;
}

function readPair(text) {
  const numbers = readNumbers(text);
  return numbers?.length === 2 && numbers[0] !== numbers[1] ? numbers : null;
}

function readWhole(text) {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}
