/** Making elements. Text comes in as text, never as markup: the names of uploaded agents are strangers' text. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element with its attributes and children.
 * `on` are listeners by event; `vars` are style properties, set through the CSSOM as the content policy wants it;
 * a value of false, null or undefined leaves an attribute out, true writes it without a value.
 * @param {string} tag
 * @param {Object<string, any>} attributes
 * @param {...(Node|string|null|undefined|false|Array)} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

/**
 * The same for SVG.
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  return dress(document.createElementNS(SVG, tag), attributes, children);
}

function dress(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
    else if (name === "vars")
      for (const [key, text] of Object.entries(value)) node.style.setProperty(key, String(text));
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...present(children));
  return node;
}

function present(children) {
  return children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Other children instead of those that are there. */
export function refill(node, ...children) {
  node.replaceChildren(...present(children));
}

/** A button that says what it does. */
export function button(label, run, attributes = {}) {
  return el("button", { type: "button", on: { click: run }, ...attributes }, label);
}

/** Words of which some are only spoken: those before and behind what is seen. */
export function spoken(before, seen, behind) {
  const made = document.createDocumentFragment();
  if (before) made.append(el("span", { class: "hidden" }, before));
  made.append(seen);
  if (behind) made.append(el("span", { class: "hidden" }, behind));
  return made;
}

/** Say something to those who listen instead of look. */
export function announce(text) {
  const live = document.getElementById("live");
  if (live && live.textContent !== text) live.textContent = text;
}

/** A sentence about what went wrong, and what can be done about it. */
export function kindly(error, retry = null) {
  const words = error instanceof Error ? error.message : String(error);
  announce(words);
  return el("div", { class: "kindly", role: "alert" }, el("p", {}, words), retry && button("Try again", retry));
}

/** Whether the person has asked their system for little motion. */
export function calm() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Save text or a blob under a name. */
export function save(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Copy text, and let the button say so for a moment. */
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
