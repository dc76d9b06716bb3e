/** Colours that all pictures share: Okabe and Ito's, which stay apart for colour-blind readers. */

const ACTIONS = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#8c9cff", "#b0785a", "#9aa0a6"];

/** The colour of an action by its number. */
export function colourOf(action) {
  return ACTIONS[action % ACTIONS.length];
}

/** "#56b4e9" as red, green, blue. */
export function parts(colour) {
  const value = parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** A colour of the style sheet, in the theme that is on. */
export function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** How the answer of each search is drawn: the same colours and forms as in the library's figures. */
const MARKS = {
  exact: { colour: "#0072b2", form: "plus", label: "Exact" },
  "cf-zoo": { colour: "#009e73", form: "star", label: "CF-ZOO" },
  boundary: { colour: "#a0468f", form: "triangle", label: "Boundary" },
  "nearest-front": { colour: "#e69f00", form: "diamond", label: "Nearest front point" },
  "white-cw": { colour: "#d55e00", form: "cross", label: "White-CW" },
  attainable: { colour: "#56b4e9", form: "dot", label: "a wish that delivers" },
  "local-zoo": { colour: "#6b7280", form: "wedge", label: "Local ZOO" },
};

/** The mark of a search; one that has none of its own is drawn as Exact is, under its own name. */
export function markOf(search) {
  return MARKS[search] || { ...MARKS.exact, label: search };
}
