/** In a notebook, the page is in a frame of a widget and asks Python by messages. `notebook_widget.js` passes them on. */

/** Milliseconds after which Python is not expected to reply. */
const PATIENCE = 60_000;

/** @type {Map<string, function(Response): void>} */
const waiting = new Map();
let count = 0;

/** Return whether this page is in a notebook. */
export function isInNotebook() {
  return document.getElementById("notebook") !== null;
}

/**
 * Ask Python what the page would ask a server.
 * @param {string} path
 * @param {{method: string, body?: string, signal?: AbortSignal}} request
 * @returns {Promise<Response>}
 */
export function askNotebook(path, { method, body, signal }) {
  const id = `${Math.random()}/${++count}`; // one widget may be shown several times
  return new Promise((resolve, reject) => {
    const end = (run, value) => (waiting.delete(id), clearTimeout(timer), run(value));
    const timer = setTimeout(() => end(reject, new Error("no reply")), PATIENCE);
    signal?.addEventListener("abort", () => end(reject, new DOMException("cancelled", "AbortError")), { once: true });
    waiting.set(id, (response) => end(resolve, response));
    window.parent.postMessage({ id, method, path, body }, "*");
  });
}

if (isInNotebook())
  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent) return;
    const { id, status, type, body } = data;
    waiting.get(id)?.(new Response(body, { status, headers: { "content-type": type } }));
  });
