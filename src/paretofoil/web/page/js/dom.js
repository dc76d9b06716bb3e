/** Create elements. Text is always text, never markup: names of uploaded agents come from strangers. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Return an element.
 * `on` holds listeners by event. `vars` holds style properties, set through the CSSOM as the content policy demands.
 * An attribute that is false, null or undefined is left out; true writes it without a value.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Object<string, any>} attributes
 * @param {...any} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * Return an SVG element.
 * @param {string} tag
 * @param {Object<string, any>} attributes
 * @param {...any} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  return fill(/** @type {SVGElement} */ (document.createElementNS(SVG, tag)), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
    else if (name === "vars")
      for (const [key, text] of Object.entries(value)) node.style.setProperty(key, String(text));
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...nonEmpty(children));
  return node;
}

function nonEmpty(children) {
  return children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Replace the children of a node. */
export function refill(node, ...children) {
  node.replaceChildren(...nonEmpty(children));
}

/** Return a button. */
export function button(label, run, attributes = {}) {
  return el("button", { type: "button", on: { click: run }, ...attributes }, label);
}

/** Return text with additions before and after it that only screen readers read. */
export function withHiddenText(before, text, after) {
  const fragment = document.createDocumentFragment();
  if (before) fragment.append(el("span", { class: "hidden" }, before));
  fragment.append(text);
  if (after) fragment.append(el("span", { class: "hidden" }, after));
  return fragment;
}

/** Announce text to screen readers. */
export function announce(text) {
  const live = document.getElementById("live");
  if (live && live.textContent !== text) live.textContent = text;
}

/** What the statuses of the server mean for somebody who has not written it. */
const STATUSES = {
  404: "This page does not exist on this server. The link may be wrong, or the server may have other agents.",
  409: "This cannot be uploaded.",
  422: "The server does not understand this request. The link may be wrong.",
  429: "The server is busy. Please try again in a moment.",
  500: "Something went wrong on the server.",
  503: "The server is busy. Please try again in a moment.",
};

/** Return a box with an error in plain words, the developers' text as details, and a button that tries again. */
export function errorBox(error, retry = null) {
  const text = error instanceof Error ? error.message : String(error);
  const message = STATUSES[error.status] || text;
  announce(message);
  return el(
    "div",
    { class: "error-box", role: "alert" },
    el("p", {}, message),
    message !== text && el("details", {}, el("summary", {}, "Details"), el("p", { class: "small" }, text)),
    retry && button("Try again", retry),
  );
}

/** Return whether the system is set to reduced motion. */
export function prefersReducedMotion() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Scroll to an element unless all of it, or its start high up, is visible already. */
export function bringIntoView(node, block = "start") {
  const { top, bottom } = node.getBoundingClientRect();
  const start = block === "start" ? 0.6 : 0.2;
  if (top >= 0 && (top < start * window.innerHeight || bottom <= window.innerHeight)) return;
  node.scrollIntoView({ block, behavior: prefersReducedMotion() ? "auto" : "smooth" });
}

/** Save text or a blob as a file. */
export function save(name, content, type = "") {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Copy text and confirm it on the button. */
export async function copy(text, from) {
  const label = from.textContent;
  try {
    await navigator.clipboard.writeText(text);
    from.textContent = "Copied";
    announce("Copied");
  } catch {
    from.textContent = "Copying is not allowed here";
  }
  setTimeout(() => (from.textContent = label), 1600);
}
