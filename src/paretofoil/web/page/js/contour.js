/** Lines and labels of the map: where the foil wins by a margin, and where each region has room for its name. */

import { NODES } from "./action_map.js";

/** The winner of nodes that are outside. */
const NOBODY = 255;

/** Return by how much a foil wins at each node (negative where it loses). */
export function marginsOf(map, foil) {
  const { scores, actions, valid } = map;
  const others = valid.filter((action) => action !== foil);
  return Float64Array.from({ length: NODES * NODES }, (_, node) => {
    const start = node * actions;
    return scores[start + foil] - Math.max(...others.map((action) => scores[start + action]));
  });
}

/**
 * Return the line on which a field has a level (marching squares).
 * @param {Float64Array} field (NODES²)
 * @returns {number[][]} segments x0, y0, x1, y1 from 0 to 1, down and to the right
 */
export function contour(field, level) {
  const segments = [];
  for (let row = 0; row < NODES - 1; row++) {
    for (let column = 0; column < NODES - 1; column++) {
      const crossings = crossingsOf(field, level, row, column);
      for (let i = 0; i + 1 < crossings.length; i += 2) segments.push([...crossings[i], ...crossings[i + 1]]);
    }
  }
  return segments.map((segment) => segment.map((place) => place / (NODES - 1)));
}

/**
 * Return contours of a field at round levels: their lines, and where there is room for the number of each.
 * @param {{field: Float64Array, least: number, most: number}} map
 */
export function levelsOf({ field, least, most }) {
  const rough = (most - least) / 5;
  if (!(rough > 0)) return [];
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((size) => size >= rough);
  const levels = [];
  for (let k = Math.ceil(least / step + 0.01); k * step < most; k++) levels.push(Number((k * step).toPrecision(6)));
  return levels.map((level) => {
    const segments = contour(field, level);
    const [x, y] = segments[Math.floor(segments.length / 2)] || [0, 0];
    return { level, segments, x, y };
  });
}

function crossingsOf(field, level, row, column) {
  const corners = [
    [row, column],
    [row, column + 1],
    [row + 1, column + 1],
    [row + 1, column],
  ];
  const crossings = [];
  corners.forEach(([r, c], i) => {
    const [nextRow, nextColumn] = corners[(i + 1) % 4];
    const from = field[r * NODES + c] - level,
      to = field[nextRow * NODES + nextColumn] - level;
    if (from > 0 === to > 0) return;
    const share = from / (from - to);
    crossings.push([c + share * (nextColumn - c), r + share * (nextRow - r)]);
  });
  return crossings;
}

/**
 * Return, for each action that wins somewhere, its share of the slice and the place with the most room.
 * @param {function(number): boolean} outside whether a node is outside
 * @returns {Array<{action: number, share: number, x: number, y: number, room: number}>} places from 0 to 1
 */
export function placesOf(map, outside) {
  const winners = map.winners.map((action, node) => (outside(node) ? NOBODY : action));
  const room = roomOf(winners);
  const places = new Map();
  const nodes = [...winners.keys()].filter((node) => winners[node] !== NOBODY);
  nodes.forEach((node) => {
    const action = winners[node];
    const place = places.get(action) || { action, share: 0, room: 0, x: 0, y: 0 };
    place.share += 1 / nodes.length;
    if (room[node] > place.room) {
      Object.assign(place, {
        room: room[node],
        x: (node % NODES) / (NODES - 1),
        y: Math.floor(node / NODES) / (NODES - 1),
      });
    }
    places.set(action, place);
  });
  return [...places.values()];
}

/** Return the distance of each node from other regions and the border (two sweeps of a chamfer distance). */
function roomOf(winners) {
  const room = new Float64Array(winners.length);
  const look = (node, row, column, dr, dc) => {
    const r = row + dr,
      c = column + dc;
    if (r < 0 || c < 0 || r >= NODES || c >= NODES) return 0.6;
    const other = r * NODES + c;
    return winners[other] === winners[node] ? room[other] + (dr && dc ? 1.41 : 1) : 0.5;
  };
  const sweep = (from, to, step, places) => {
    for (let node = from; node !== to; node += step) {
      const row = Math.floor(node / NODES),
        column = node % NODES;
      const nearest = Math.min(...places.map(([dr, dc]) => look(node, row, column, dr, dc)));
      room[node] = step > 0 ? nearest : Math.min(room[node], nearest);
    }
  };
  sweep(0, winners.length, 1, [
    [-1, -1],
    [-1, 0],
    [-1, 1],
    [0, -1],
  ]);
  sweep(winners.length - 1, -1, -1, [
    [1, 1],
    [1, 0],
    [1, -1],
    [0, 1],
  ]);
  return room;
}
