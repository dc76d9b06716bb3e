/** Marks on the map: front points, the path of the command, answers, the proven range, and the draggable command. */

import { markOf, themed } from "./colours.js";

const TURN = 2 * Math.PI;

/** Draw front points. Those of other slices are faint. */
export function drawFront(pen, frame, points, faint) {
  points.forEach((point, i) => {
    const { x, y } = frame.place(point);
    if (!inside(frame, x, y)) return;
    pen.globalAlpha = faint[i] ? 0.3 : 1;
    outlined(pen, themed("--ink"), () => pen.rect(x - 3, y - 3, 6, 6), themed("--paper"));
  });
  pen.globalAlpha = 1;
}

/** Draw the remaining command of every step as a path. */
export function drawPath(pen, frame, commands, now) {
  pen.save();
  pen.strokeStyle = themed("--ink");
  pen.lineWidth = 1.4;
  pen.globalAlpha = 0.6;
  pen.setLineDash([2, 3]);
  pen.beginPath();
  commands.forEach((command, i) => {
    const { x, y } = frame.place(command);
    if (i) pen.lineTo(x, y);
    else pen.moveTo(x, y);
  });
  pen.stroke();
  pen.setLineDash([]);
  commands.forEach((command, i) => {
    const { x, y } = frame.place(command);
    if (i === now) return;
    pen.beginPath();
    pen.arc(x, y, 2, 0, TURN);
    pen.fillStyle = themed("--ink");
    pen.fill();
  });
  pen.restore();
}

/** Draw the proven range. */
export function drawRange(pen, frame, range, crosses) {
  const low = frame.place(range.low),
    high = frame.place(range.high);
  pen.save();
  pen.strokeStyle = themed("--new");
  pen.globalAlpha = crosses ? 1 : 0.35;
  pen.lineWidth = 2;
  pen.setLineDash([7, 4]);
  pen.strokeRect(low.x, high.y, high.x - low.x, low.y - high.y);
  pen.restore();
}

/** Draw a line of equal margins or amounts: that beyond which the foil wins. */
export function drawContour(pen, frame, segments, width = 1.8) {
  pen.save();
  pen.strokeStyle = themed("--ink");
  pen.lineWidth = width;
  pen.beginPath();
  for (const [x0, y0, x1, y1] of segments) {
    pen.moveTo(frame.box.x + x0 * frame.box.width, frame.box.y + y0 * frame.box.height);
    pen.lineTo(frame.box.x + x1 * frame.box.width, frame.box.y + y1 * frame.box.height);
  }
  pen.stroke();
  pen.restore();
}

/** Draw the name of each action where its region has room. */
export function drawNames(pen, frame, places, names) {
  pen.save();
  pen.font = `600 14px ${themed("--font")}`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const { action, x, y, room } of places) {
    if (room < 2.5) continue;
    const half = pen.measureText(names[action]).width / 2 + 4;
    const within = (at, start, length, margin) => Math.max(start + margin, Math.min(at, start + length - margin));
    const left = within(frame.box.x + x * frame.box.width, frame.box.x, frame.box.width, half);
    const top = within(frame.box.y + y * frame.box.height, frame.box.y, frame.box.height, 10);
    pen.strokeStyle = themed("--paper");
    pen.globalAlpha = 0.75;
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.strokeText(names[action], left, top);
    pen.globalAlpha = 1;
    pen.fillStyle = themed("--ink");
    pen.fillText(names[action], left, top);
  }
  pen.restore();
}

/** Draw a line from the command to the answer. */
export function drawAnswer(pen, frame, original, answer) {
  const from = frame.place(original),
    to = frame.place(answer);
  pen.save();
  pen.strokeStyle = themed("--ink");
  pen.lineWidth = 1.6;
  pen.beginPath();
  pen.moveTo(from.x, from.y);
  pen.lineTo(to.x, to.y);
  pen.stroke();
  pen.restore();
}

/** Draw the mark of a search. */
export function drawMark(pen, x, y, search, size = 8) {
  const mark = markOf(search);
  outlined(pen, mark.colour, () => FORMS[mark.form](pen, x, y, size), "#ffffff");
}

/** Draw the draggable command as a ring. */
export function drawProbe(pen, frame, command) {
  const { x, y } = frame.place(command);
  pen.save();
  for (const [radius, colour, width] of [
    [10, themed("--paper"), 6],
    [10, themed("--accent"), 3],
  ]) {
    pen.beginPath();
    pen.arc(x, y, radius, 0, TURN);
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.stroke();
  }
  pen.restore();
}

/** Draw the current command of the agent. */
export function drawOriginal(pen, frame, command) {
  const { x, y } = frame.place(command);
  outlined(pen, themed("--ink"), () => pen.arc(x, y, 5, 0, TURN), themed("--paper"));
}

function inside({ box }, x, y) {
  return x >= box.x - 1 && y >= box.y - 1 && x <= box.x + box.width + 1 && y <= box.y + box.height + 1;
}

function outlined(pen, fill, trace, line) {
  pen.save();
  pen.beginPath();
  trace();
  pen.closePath();
  pen.lineWidth = 3;
  pen.lineJoin = "round";
  pen.strokeStyle = line;
  pen.stroke();
  pen.fillStyle = fill;
  pen.fill();
  pen.restore();
}

function polygon(pen, x, y, corners) {
  corners.forEach(([dx, dy], i) => (i ? pen.lineTo(x + dx, y + dy) : pen.moveTo(x + dx, y + dy)));
}

function around(count, size, start, inner = 1) {
  return Array.from({ length: count }, (_, i) => {
    const angle = start + (i * TURN) / count,
      radius = i % 2 ? size * inner : size;
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  });
}

function bars(size) {
  const [a, b] = [size, size * 0.36];
  return [
    [-b, -a],
    [b, -a],
    [b, -b],
    [a, -b],
    [a, b],
    [b, b],
    [b, a],
    [-b, a],
    [-b, b],
    [-a, b],
    [-a, -b],
    [-b, -b],
  ];
}

const FORMS = {
  dot: (pen, x, y, size) => pen.arc(x, y, size * 0.8, 0, TURN),
  plus: (pen, x, y, size) => polygon(pen, x, y, bars(size * 0.85)),
  star: (pen, x, y, size) => polygon(pen, x, y, around(10, size * 1.15, -TURN / 4, 0.45)),
  diamond: (pen, x, y, size) => polygon(pen, x, y, around(4, size, -TURN / 4)),
  triangle: (pen, x, y, size) => polygon(pen, x, y, around(3, size, -TURN / 4)),
};
