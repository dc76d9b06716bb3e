/**
 * Outcomes of an episode as foils. Their text is what the command line takes: "treasure >= 50, never visits (3, 4)".
 * An outcome is a list of clauses: `{kind: "limit", name, sign, number}`, `{kind: "ends", never}`, `{kind: "takes",
 * never, value}`, `{kind: "visits", never, value}`, or `{kind: "other", text}` for clauses that the form does not have.
 */

import { amount, join, quantityText, short } from "./text.js";

const LIMIT = /^(.+?)\s*(<=|>=|=)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)$/i;
const EVENT = /^(never )?(ends|takes|visits)(?: (.+))?$/;
/** What the signs mean, in words. */
export const SIGNS = { ">=": "at least", "<=": "at most", "=": "exactly" };
/** The clause that the return is what the command asks for. */
const DELIVERS = "delivers";
/** Share of a range within which two returns are the same. */
const SAME = 0.001;

/**
 * Return the clauses of a text. A comma inside of parentheses does not separate.
 * @param {Agent} agent
 * @param {string} text
 * @returns {Clause[]}
 */
export function readClauses(agent, text) {
  const parts = text.split(/,(?![^()]*\))/).map((part) => part.trim());
  return parts.filter(Boolean).map((part) => readClause(agent, part));
}

/** @returns {Clause} */
function readClause(agent, text) {
  const [, name, sign, number] = LIMIT.exec(text) || [];
  if (name === "steps" || agent.returns.some((objective) => objective.name === name))
    return { kind: "limit", name, sign, number: Number(number) };
  const [, never, word, value = ""] = EVENT.exec(text) || [];
  const known = { ends: value === "", takes: !agent.amounts && agent.actions.includes(value), visits: /^\(.*\)$/.test(value) }[word];
  const kind = /** @type {Clause["kind"]} */ (word);
  return known ? { kind, never: Boolean(never), value } : { kind: "other", text };
}

/** @param {Clause[]} clauses */
export const writeClauses = (clauses) => clauses.map(writeClause).join(", ");

/** @param {Clause} clause */
export function writeClause({ kind, name, sign, number, never, value, text }) {
  if (kind === "other") return text;
  if (kind === "limit") return `${name} ${sign} ${number}`;
  return `${never ? "never " : ""}${kind} ${value}`.trim();
}

/** Return the number of a clause, which is positive for costs, as the library's return, and back. */
export const toReturn = (objective, number) => (objective.cost ? -number : number);

/** Return a clause for people: "at least 50 treasure", "never goes to (3, 4)". */
function clauseWords(agent, clause) {
  const { kind, name, sign, number, never, value } = clause;
  if (kind === "limit") {
    if (name === "steps") return `${SIGNS[sign]} ${number} ${number === 1 ? "step" : "steps"}`;
    const objective = agent.returns.find((one) => one.name === name);
    if (objective.probability) return eventWords(objective, sign, number);
    return number === 0 && sign !== ">="
      ? `no ${name}`
      : `${SIGNS[sign]} ${quantityText(objective, toReturn(objective, number), 4)}`;
  }
  if (kind === "ends") return never ? "the episode does not end by itself" : "the episode ends by itself";
  if (kind === "takes") return `${never ? "never chooses" : "chooses"} ${value}`;
  if (kind === "visits") return `${never ? "never goes" : "goes"} to ${value}`;
  return clause.text === DELIVERS ? "exactly what you ask for" : clause.text;
}

/** An objective that is a probability happens or does not happen in a run. */
function eventWords({ name }, sign, number) {
  if (sign === "<=" && number < 1) return `no ${name}`;
  return sign === ">=" && number > 0 ? name : `${name} ${sign} ${number}`;
}

/**
 * Return an outcome for people: "at least 50 treasure and at most 10 steps".
 * @param {Agent} agent
 * @param {string} text
 */
export const outcomeWords = (agent, text) => join(readClauses(agent, text).map((clause) => clauseWords(agent, clause)));

/**
 * Return the name of a foil: an action, or an outcome.
 * @param {Agent} agent
 * @param {Foil} foil
 */
export function foilName(agent, foil) {
  if (typeof foil === "number") return agent.actions[foil];
  return foil.amount ? amountWords(agent, foil.amount) : outcomeWords(agent, foil.outcome);
}

/** Return limits of amounts for people: "release >= 30" is "at least 30 m³ of release". */
function amountWords({ amounts }, text) {
  const unitOf = (name) => amounts.find((one) => one.name === name)?.unit || "";
  const words = (limit, name) => `${limit} ${unitOf(name)}`.trim() + ` of ${name}`;
  const [, from, both, to] = /^(\S+) <= (.+) <= (\S+)$/.exec(text) || [];
  if (both) return words(`${from} to ${to}`, both);
  const [, name, sign, number] = /^(.+?) ([<>]=|[-+]) (\S+)$/.exec(text) || [];
  if (!name) return text;
  return sign in SIGNS
    ? words(`${SIGNS[sign]} ${number}`, name)
    : `${`${number} ${unitOf(name)}`.trim()} ${sign === "+" ? "more" : "less"} ${name}`;
}

/**
 * Return whether an episode meets all clauses; null if the page cannot tell. Actions and cells count from a step on.
 * @param {Agent} agent
 * @param {Clause[]} clauses
 * @param {Episode} episode
 */
export function isMet(agent, clauses, episode, step = 0) {
  const all = clauses.map((clause) => clauseIsMet(agent, clause, episode, step));
  return all.includes(false) ? false : all.includes(null) ? null : true;
}

/** @param {Clause} clause */
function clauseIsMet(agent, clause, episode, step) {
  const { kind, name, sign, number, never, value } = clause;
  const { decisions, achieved, terminated } = episode;
  const later = decisions.slice(step);
  if (kind === "limit") {
    const at = agent.returns.findIndex((objective) => objective.name === name);
    const got = name === "steps" ? decisions.at(-1).step + 1 : toReturn(agent.returns[at], achieved[at]);
    const near = name === "steps" ? 0 : SAME * (agent.space.scale[at] ?? 1);
    if (name === "steps" && sign !== ">=" && terminated === false) return false;
    return (sign === "<=" || got >= number - near) && (sign === ">=" || got <= number + near);
  }
  if (kind === "ends") return (terminated !== false) !== never;
  if (kind === "takes") return later.some(({ action }) => agent.actions[action] === value) !== never;
  const cell = kind === "visits" && agent.cells.find((one) => one.cell === value);
  if (!cell) return null;
  return [...later.map(({ place }) => place), episode.end_place].some((place) => isAt(cell, place)) !== never;
}

const isAt = ({ place }, other) => other && Math.hypot(place[0] - other[0], place[1] - other[1]) < 1e-6;

/**
 * Return the cell at a point of the picture, in shares of its width and height.
 * @param {Agent} agent
 */
export function cellAt(agent, x, y, ratio) {
  const away = ({ place }) => Math.hypot((place[0] - x) * ratio, place[1] - y);
  return agent.cells.reduce((best, cell) => (!best || away(cell) < away(best) ? cell : best), null);
}

/** Return the number that the form shows for an objective of a return, as people read it. */
export const shownNumber = (objective, value) => short(amount({ ...objective, probability: false }, value), 4);

/** Return an outcome with the condition that the command is delivered; null if it has it, or if that has no meaning. */
export function deliveredOutcome(agent, text) {
  const has = readClauses(agent, text).some((clause) => clause.text === DELIVERS);
  return has || agent.stochastic || agent.space.kind === "simplex" ? null : `${text}, ${DELIVERS}`;
}

/** Return outcomes that are less than one which no command leads to: each clause left out, or the front's best. */
export function easierOutcomes(agent, text) {
  const clauses = readClauses(agent, text);
  if (clauses.length > 1)
    return clauses.map((clause) => ({
      outcome: writeClauses(clauses.filter((other) => other !== clause)),
      label: `Ask without “${clauseWords(agent, clause)}”`,
    }));
  const [{ kind, name, sign, number }] = clauses;
  const at = agent.returns.findIndex((objective) => objective.name === name);
  if (kind !== "limit" || at < 0 || sign === "=" || !agent.front.length || agent.space.kind === "simplex") return [];
  const amounts = agent.front.map((point) => toReturn(agent.returns[at], point[at]));
  const best = Number((sign === ">=" ? Math.max(...amounts) : Math.min(...amounts)).toPrecision(4));
  if (agent.returns[at].probability || (sign === ">=" ? best >= number : best <= number)) return [];
  const outcome = writeClause({ kind, name, sign, number: best });
  return [{ outcome, label: `Ask for ${outcomeWords(agent, outcome)}` }];
}
