/**
 * Responses that were saved in the page (`paretofoil episode ... --html`), in a script element of JSON:
 * `{"pictures": ["data:...", ...], "answers": [{"method", "path", "body", "result"}, ...]}`. A request gets the first
 * entry with the same method and path whose body has the same value in every field of the entry; null matches a missing
 * field. In results, "saved:3" stands for a picture, which the file holds once.
 */

const UNSAVED = "This page was saved and has no server. It can show only what was saved with it.";

let saved = null;

/** Return whether this page was saved and has no server. */
export function isSaved() {
  return document.getElementById("episode") !== null;
}

/** @returns {any|undefined} the saved response to a request; undefined if there is a server */
export function savedResponse(method, path, body) {
  if (!isSaved()) return undefined;
  const match = findResponse(method, path, body);
  if (!match) throw new Error(UNSAVED);
  return match.result;
}

/** Return whether a request has a response: with a server always, else if it was saved. */
export function hasResponse(method, path, body) {
  return !isSaved() || Boolean(findResponse(method, path, body));
}

/** Return the questions about outcomes that were saved with the page. */
export const savedOutcomes = () =>
  entries()
    .filter(({ path, body }) => path === "/api/answers" && body.outcome)
    .map(({ body }) => body);

function entries() {
  saved ??= readSaved(document.getElementById("episode").textContent);
  return saved.answers;
}

function findResponse(method, path, body) {
  return entries().find((entry) => entry.method === method && entry.path === path && matches(entry.body, body));
}

function readSaved(text) {
  const { pictures } = JSON.parse(text);
  return JSON.parse(text, (key, value) =>
    typeof value === "string" && /^saved:\d+$/.test(value) ? pictures[value.slice(6)] : value,
  );
}

function matches(entry, body) {
  return Object.entries(entry || {}).every(([key, value]) => same(value, body?.[key]));
}

function same(a, b) {
  if (typeof a === "number" && typeof b === "number") return Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a));
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => same(item, b[i]));
  return JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
}
