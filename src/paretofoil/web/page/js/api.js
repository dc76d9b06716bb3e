/** Requests to the server, or to the responses that were saved in the page. */

import { askNotebook, isInNotebook } from "./notebook.js";
import { hasResponse, savedResponse } from "./saved.js";

const POLL_FIRST = 120;
const POLL_MOST = 900;

/** An error response of the server, with its message and status. */
export class RequestError extends Error {
  /**
   * @param {string} message
   * @param {number} status 0 if the server cannot be reached
   */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function call(method, path, body = undefined, signal = undefined) {
  const saved = savedResponse(method, path, body);
  if (saved !== undefined) return saved;
  const headers = { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) };
  const response = await send(path, {
    method,
    signal,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const document = await response.json().catch(() => ({}));
  if (!response.ok)
    throw new RequestError(document.error || `The server answered with status ${response.status}.`, response.status);
  return document;
}

async function send(path, request) {
  try {
    return await (isInNotebook() ? askNotebook(path, request) : fetch(path, request));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const asked = isInNotebook()
      ? "Python does not reply. Is the kernel running? Run this cell again."
      : "The server cannot be reached. Is `paretofoil serve` still running?";
    throw new RequestError(asked, 0);
  }
}

const agentPath = (name) => `/api/agents/${encodeURIComponent(name)}`;

/** @returns {Promise<AgentSummary[]>} the agents */
export const listAgents = () => call("GET", "/api/agents");
/** @returns {Promise<Agent>} one agent with its space and front */
export const readAgent = async (name) => withPlainWeights(await call("GET", agentPath(name)));
/** Preferences are plain weights, even if the objective that they weigh is a cost or a probability. */
function withPlainWeights(agent) {
  if (agent.space.kind !== "simplex") return agent;
  const plain = { unit: "", cost: false, probability: false };
  return { ...agent, objectives: agent.objectives.map((objective) => ({ ...objective, ...plain })) };
}

/** @returns {Promise<Search[]>} the searches */
export const listSearches = () => call("GET", "/api/searches");
/** @returns {Promise<OptionInfo[]>} the options of a question */
export const listOptions = () => call("GET", "/api/options");
/** @returns {Promise<Episode>} the episode under a command */
export const rollOut = (agent, command, seed) => call("POST", "/api/episodes", { agent, command, seed });
/** @returns {Promise<{episode: Episode}>} the rest of an episode after another command is issued at a step */
export const rollOutFrom = (at, issued) => call("POST", "/api/consequences", { ...at, issued });
/** @returns {Promise<Object>} the policy as a function of the command alone */
export const readFolded = (agent, state) => call("POST", "/api/folded", { agent, state });
/** @returns {Promise<number[][]>} the probabilities of a black-box policy under many commands */
export const fetchProbabilities = (agent, decision, commands, signal) =>
  call(
    "POST",
    "/api/probabilities",
    { agent, state: decision.state, valid_actions: decision.valid_actions, commands },
    signal,
  );
/** @returns {Promise<Object>} the agent that was uploaded */
export const upload = (document) => call("POST", "/api/agents", document);
/** Delete an agent that was uploaded. */
export const deleteAgent = (name) => call("DELETE", agentPath(name));

const participant = (key) => `/api/study/participants/${encodeURIComponent(key)}`;

/** @returns {Promise<Object>} the description of the user study */
export const readStudy = () => call("GET", "/api/study");
/** @returns {Promise<Object>} the screens of a new participant */
export const takePart = (key, ids) => call("PUT", participant(key), { agreed: true, ids });
/** @returns {Promise<Object>} the screens of a participant who has joined before */
export const readParticipant = (key) => call("GET", participant(key));
/** @returns {Promise<Object>} the participant after a reply */
export const sendReply = (key, reply) => call("POST", `${participant(key)}/replies`, reply);

/** Return whether the server, or the saved page, has a kind of job. */
export const offers = async (kind) => `/api/${kind}` in (await call("GET", "/api/openapi.json")).paths;

/** Return the address of the picture of an agent's environment. */
export const pictureOf = (agent) => agent.picture || `${agentPath(agent.name)}/picture.png`;

/** In a notebook: the addresses of pictures that Python has drawn, by the server's addresses. */
const drawn = new Map();

async function sourceOf(address) {
  if (!isInNotebook()) return address;
  if (!drawn.has(address))
    drawn.set(
      address,
      send(address, { method: "GET" }).then(async (response) => URL.createObjectURL(await response.blob())),
    );
  return drawn.get(address);
}

/** Show a picture in an image element. */
export function showPicture(image, address) {
  image.dataset.picture = address;
  if (!isInNotebook()) image.src = address;
  else sourceOf(address).then((source) => image.dataset.picture === address && (image.src = source));
  return image;
}

/** Load a picture, so that it is there at once when it is shown. */
export async function loadPicture(address) {
  await Object.assign(new Image(), { src: await sourceOf(address) }).decode();
}

/**
 * Run a job on the server and return its result. An abort cancels the job on the server, too.
 * @param {"answers"|"atlases"|"flip-maps"|"influence"} kind
 * @param {Object} question
 * @param {{signal?: AbortSignal, onProgress?: function(number|null, Array): void}} options
 */
export async function work(kind, question, { signal, onProgress } = {}) {
  // Without the signal: a job whose key is not known could not be cancelled.
  let job = await call("POST", `/api/${kind}`, question);
  const { ticket } = job; // later responses have none
  const cancel = () => call("DELETE", `/api/jobs/${job.job}?ticket=${ticket}`).catch(() => {});
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
    : new RequestError(job.error || "The job failed.", 500);
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

/** Return whether a question can be asked: of a server always, in a saved page if its answer was saved. */
export const canAnswer = (question) => hasResponse("POST", "/api/answers", question);
