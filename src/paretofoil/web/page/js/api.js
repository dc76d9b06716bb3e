/** Everything the page knows comes through here: from the server, or from what was saved into the page. */

import { savedAnswer } from "./saved.js";

const POLL_FIRST = 120;
const POLL_MOST = 900;

/** A refusal, in the server's own sentence. */
export class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function call(method, path, body = undefined, signal = undefined) {
  const saved = savedAnswer(method, path, body);
  if (saved !== undefined) return saved;
  const asked = { method, signal, headers: { accept: "application/json" } };
  if (body !== undefined) {
    asked.body = JSON.stringify(body);
    asked.headers["content-type"] = "application/json";
  }
  const answer = await fetchOr(path, asked);
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refusal(told.error || `The server answered ${answer.status}.`, answer.status);
  return told;
}

async function fetchOr(path, asked) {
  try {
    return await fetch(path, asked);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("The server cannot be reached. Is `paretofoil serve` still running?", 0);
  }
}

const named = (name) => `/api/agents/${encodeURIComponent(name)}`;

/** @returns {Promise<Array>} who can be asked */
export const listAgents = () => call("GET", "/api/agents");
/** @returns {Promise<Object>} one agent with its space and front */
export const readAgent = async (name) => asAsked(await call("GET", named(name)));
/** What preferences weigh may be a cost or a chance; the weights themselves are plain numbers. */
function asAsked(agent) {
  if (agent.space.kind !== "simplex") return agent;
  const plain = { unit: "", cost: false, probability: false };
  return { ...agent, objectives: agent.objectives.map((objective) => ({ ...objective, ...plain })) };
}

/** @returns {Promise<Array>} the searches by name */
export const listSearches = () => call("GET", "/api/searches");
/** @returns {Promise<Object>} an episode under a command */
export const rollOut = (agent, command, seed) => call("POST", "/api/episodes", { agent, command, seed });
/** @returns {Promise<Object>} what happens from a moment on under another command */
export const rollOn = (where, issued) => call("POST", "/api/consequences", { ...where, issued });
/** @returns {Promise<Object>} the policy as a function of the command alone */
export const readFolded = (agent, state) => call("POST", "/api/folded", { agent, state });
/** @returns {Promise<Array>} probabilities of a policy that the page cannot compute */
export const askPolicy = (agent, decision, commands, signal) =>
  call(
    "POST",
    "/api/probabilities",
    { agent, state: decision.state, valid_actions: decision.valid_actions, commands },
    signal,
  );
/** @returns {Promise<Object>} the agent that was uploaded */
export const upload = (document) => call("POST", "/api/agents", document);

/** Whether the server can do a kind of work at all: an older one may not. */
export const offers = async (kind) => `/api/${kind}` in (await call("GET", "/api/openapi.json")).paths;

/** The picture of an agent's world. */
export const pictureOf = (agent) => agent.picture || `${named(agent.name)}/picture.png`;

/**
 * Long work: an answer, a flip map, an influence.
 * Resolves with the result; an abort cancels the work on the server as well.
 * @param {"answers"|"flip-maps"|"influence"} kind
 * @param {Object} question
 * @param {{signal?: AbortSignal, onProgress?: function(number|null, Array): void}} listening
 */
export async function work(kind, question, { signal, onProgress } = {}) {
  // Not cut off: a job whose name is not known could not be cancelled.
  let job = await call("POST", `/api/${kind}`, question);
  const cancel = () => call("DELETE", `/api/jobs/${job.job}`).catch(() => {});
  signal?.addEventListener("abort", cancel, { once: true });
  if (signal?.aborted) cancel();
  try {
    for (
      let wait = POLL_FIRST;
      job.state === "waiting" || job.state === "running";
      wait = Math.min(wait * 1.4, POLL_MOST)
    ) {
      onProgress?.(job.progress ?? null, job.partial ?? []);
      await pause(wait, signal);
      job = await call("GET", `/api/jobs/${job.job}`, undefined, signal);
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
  if (job.state === "done") return job.result;
  throw job.state === "cancelled"
    ? new DOMException("cancelled", "AbortError")
    : new Refusal(job.error || "The search failed.", 500);
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new DOMException("cancelled", "AbortError"));
    if (signal?.aborted) return stop();
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), stop()), { once: true });
  });
}
