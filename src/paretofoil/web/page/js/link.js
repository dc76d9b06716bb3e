/** The permanent link: what is looked at, as the part of the address behind the #. */

import { PLAIN_OPTIONS } from "./state.js";

const TABS = ["space", "episode", "compare", "options"];

/** @returns {string} the part behind the # */
export function writeLink(state) {
  if (!state.agent || state.view === "worlds") return "";
  const parts = new URLSearchParams({ agent: state.agent.name });
  if (state.view === "episode" && state.episode) {
    parts.set("command", state.command.join(","));
    if (state.seed) parts.set("seed", state.seed);
    parts.set("time", state.time);
    if (state.foil !== null) parts.set("foil", state.agent.actions[state.foil]);
    for (const [name, value] of changedOptions(state.options)) parts.set(name, value);
    if (state.explore) parts.set("explore", state.explore);
    if (state.explore === "space" && state.axes) parts.set("axes", state.axes.join(","));
    if (state.explore === "space" && state.zoom) parts.set("zoom", state.zoom);
    if (state.explore === "space" && state.probe)
      parts.set("probe", state.probe.map((x) => Number(x.toPrecision(7))).join(","));
    if (state.explore === "compare" && state.beside) parts.set("beside", JSON.stringify(state.beside));
  }
  return parts.toString().replaceAll("%2C", ",");
}

function changedOptions(options) {
  return Object.entries(options)
    .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(PLAIN_OPTIONS[name]))
    .map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : value]);
}

/**
 * What a link asks for; what cannot be read of it is left out, since links are typed and cut.
 * @param {string} hash with or without its #
 */
export function readLink(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  if (!parts.get("agent")) return null;
  const options = { ...PLAIN_OPTIONS };
  for (const name of Object.keys(PLAIN_OPTIONS)) {
    if (parts.has(name)) options[name] = readOption(name, parts.get(name));
  }
  const explore = parts.get("explore");
  return {
    agent: parts.get("agent"),
    command: numbers(parts.get("command")),
    seed: whole(parts.get("seed")) ?? 0,
    time: whole(parts.get("time")) ?? 0,
    foil: parts.get("foil"),
    options,
    explore: TABS.includes(explore) ? explore : null,
    axes: pair(parts.get("axes")),
    zoom: whole(parts.get("zoom")),
    probe: numbers(parts.get("probe")),
    beside: structured(parts.get("beside"), null),
  };
}

function readOption(name, text) {
  const plain = PLAIN_OPTIONS[name];
  if (typeof plain === "string") return text;
  return structured(text, plain);
}

function structured(text, otherwise) {
  try {
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

function numbers(text) {
  if (!text) return null;
  const read = text.split(",").map(Number);
  return read.every(Number.isFinite) ? read : null;
}

function pair(text) {
  const read = numbers(text);
  return read?.length === 2 && read[0] !== read[1] ? read : null;
}

function whole(text) {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}
