/** Colours of the pictures: those of Okabe and Ito, which colour-blind readers can distinguish. */

const ACTIONS = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#8c9cff", "#b0785a", "#9aa0a6"];

/** Return the colour of an action. */
export function colourOf(action) {
  return ACTIONS[action % ACTIONS.length];
}

/** Return red, green and blue of "#56b4e9". */
export function parts(colour) {
  const value = parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Return a colour of the style sheet in the current theme. */
export function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Marks of the searches: the same colours and shapes as in the library's figures. */
const MARKS = {
  exact: { colour: "#0072b2", form: "plus", label: "Exact" },
  "cf-zoo": { colour: "#009e73", form: "star", label: "CF-ZOO" },
  boundary: { colour: "#a0468f", form: "triangle", label: "Boundary" },
  "nearest-front": { colour: "#e69f00", form: "diamond", label: "Nearest front point" },
  attainable: { colour: "#56b4e9", form: "dot", label: "attainable command" },
};

/** Return the mark of a search. An unknown search has the mark of Exact and its own name. */
export function markOf(search) {
  return MARKS[search] || { ...MARKS.exact, label: search };
}
