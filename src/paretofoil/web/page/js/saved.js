/**
 * A page that was saved with its episode brings the server's answers along, in a script element of JSON:
 * `{"answers": [{"method", "path", "body", "result"}, ...]}`. A request is answered by the first entry whose method and
 * path are the same and whose body agrees in every field that the entry names.
 */

const UNSAVED = "This page was saved without its server: it can show only what was saved with it.";

let saved = null;

/** Whether this page was saved, and has no server behind it. */
export function isSaved() {
  return document.getElementById("episode") !== null;
}

/** @returns {any|undefined} what was saved for a request; undefined if there is a server to ask */
export function savedAnswer(method, path, body) {
  if (!isSaved()) return undefined;
  saved ??= JSON.parse(document.getElementById("episode").textContent);
  const found = saved.answers.find((entry) => entry.method === method && entry.path === path && agrees(entry.body, body));
  if (!found) throw new Error(UNSAVED);
  return found.result;
}

function agrees(named, asked) {
  return Object.entries(named || {}).every(([key, value]) => same(value, asked?.[key]));
}

function same(a, b) {
  if (typeof a === "number" && typeof b === "number") return Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a));
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => same(item, b[i]));
  return JSON.stringify(a) === JSON.stringify(b);
}
