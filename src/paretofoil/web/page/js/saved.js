/**
 * A page that was saved with its episode brings the server's answers along, in a script element of JSON:
 * `{"pictures": ["data:...", ...], "answers": [{"method", "path", "body", "result"}, ...]}`. A request is answered by
 * the first entry whose method and path are the same and whose body agrees in every field that the entry names; null is
 * a field that is not said. In results, "saved:3" stands for a picture, which is in the file only once.
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
  saved ??= readSaved(document.getElementById("episode").textContent);
  const found = saved.answers.find(
    (entry) => entry.method === method && entry.path === path && agrees(entry.body, body),
  );
  if (!found) throw new Error(UNSAVED);
  return found.result;
}

function readSaved(text) {
  const { pictures } = JSON.parse(text);
  return JSON.parse(text, (key, value) =>
    typeof value === "string" && /^saved:\d+$/.test(value) ? pictures[value.slice(6)] : value,
  );
}

function agrees(named, asked) {
  return Object.entries(named || {}).every(([key, value]) => same(value, asked?.[key]));
}

function same(a, b) {
  if (typeof a === "number" && typeof b === "number") return Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a));
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => same(item, b[i]));
  return JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
}
