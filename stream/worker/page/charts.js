// Small charts of the last windows of one feed, oldest to newest: bars, and a line for the promised k.

import { metres, svg } from "./map.js";

const [WIDTH, HEIGHT, TOP, FOOT] = [320, 110, 16, 6];
const MOST = 30;
const number = new Intl.NumberFormat("en");

export const lossOf = (one) => one.information_loss.distance_m ?? one.information_loss.mean_space_translation_m ?? null;
const percent = (value) => `${+(100 * value).toPrecision(3)}\u00a0%`;
export const seconds = (value) => `${value.toFixed(2)}\u00a0s`;

export const clock = ({ window: [start, end] }) => {
  const day = (moment) => moment.slice(0, 10);
  return `${day(start)} ${start.slice(11, 16)}–${day(start) === day(end) ? "" : `${day(end)} `}${end.slice(11, 16)}`;
};

export function charts(newestFirst, isLive) {
  const windows = newestFirst.slice(0, MOST).reverse();
  const k = windows.at(-1).parameters.k;
  const figures = [
    bars("Smallest support", windows, (one) => one.smallest_support, number.format, { value: k, text: `k = ${k}`, isLeast: true }),
    shares(windows),
    bars("Information loss", windows, lossOf, metres),
  ];
  if (isLive) figures.push(bars("Close to release", windows, (one) => one.close_to_release_s, seconds));
  const grid = document.createElement("div");
  grid.className = "charts";
  grid.append(...figures);
  return grid;
}

function frame(title, latest, summary, children, extra) {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  const strong = document.createElement("strong");
  strong.textContent = latest;
  caption.append(title, strong);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": summary }, ...children);
  picture.append(svg("path", { class: "base", d: `M0 ${HEIGHT - FOOT + 0.5}H${WIDTH}` }));
  figure.append(caption, picture, ...(extra ? [extra] : []));
  return figure;
}

const slot = (windows) => Math.min(24, WIDTH / Math.max(1, windows.length));

function nothing(i, wide, text) {
  const box = { class: "nothing", x: i * wide + 2, y: HEIGHT - FOOT - 10, width: Math.max(2, wide - 4), height: 9 };
  return svg("rect", box, svg("title", {}, text));
}

function bars(title, windows, valueOf, format, line) {
  const values = windows.map((one) => (one.outcome === "released" ? valueOf(one) : null));
  const known = values.filter((value) => value !== null);
  if (!known.length) return frame(title, "–", `${title}: no released window.`, []);
  const most = Math.max(...known, line ? line.value * 1.25 : 0, 1e-9);
  const high = HEIGHT - TOP - FOOT;
  const wide = slot(windows);
  const children = windows.map((one, i) => {
    const value = values[i];
    if (value === null) return nothing(i, wide, `${clock(one)}: ${one.outcome}`);
    const isBroken = line?.isLeast && value < line.value;
    const tall = Math.max(1, (value / most) * high);
    const box = { x: i * wide + 1, y: HEIGHT - FOOT - tall, width: Math.max(1, wide - 2), height: tall };
    return svg("rect", { class: isBroken ? "broken" : "released", ...box }, svg("title", {}, `${clock(one)}: ${format(value)}`));
  });
  if (line) {
    const y = HEIGHT - FOOT - (line.value / most) * high;
    children.push(svg("path", { class: "rule", d: `M0 ${y}H${WIDTH}` }));
    children.push(svg("text", { x: WIDTH, y: y - 4, "text-anchor": "end" }, line.text));
  }
  const range = `from ${format(Math.min(...known))} to ${format(Math.max(...known))}`;
  const promised = line ? `; promised: ${line.text}` : "";
  const summary = `${title} of the last ${known.length} released windows: ${range}, last ${format(known.at(-1))}${promised}.`;
  return frame(title, format(known.at(-1)), summary, children);
}

function shares(windows) {
  const title = "Points released";
  const high = HEIGHT - TOP - FOOT;
  const wide = slot(windows);
  const most = Math.max(1, ...windows.map((one) => (one.points_released ?? 0) + (one.points_suppressed ?? 0)));
  const children = windows.flatMap((one, i) => {
    if (one.points_released === null) return [nothing(i, wide, `${clock(one)}: ${one.outcome}`)];
    const [released, suppressed] = [one.points_released, one.points_suppressed ?? 0].map((n) => (n / most) * high);
    const place = { x: i * wide + 1, width: Math.max(1, wide - 2) };
    const told = one.points_suppressed === null ? "number of suppressed not published" : `${number.format(one.points_suppressed)} suppressed`;
    const text = `${clock(one)}: ${number.format(one.points_released)} released, ${told}`;
    return [
      svg("rect", { class: "released", ...place, y: HEIGHT - FOOT - released, height: released }, svg("title", {}, text)),
      svg("rect", { class: "suppressed", ...place, y: HEIGHT - FOOT - released - suppressed, height: suppressed }, svg("title", {}, text)),
    ];
  });
  // Windows whose number of suppressed points is not published are left out of the share.
  const whole = windows.filter((one) => one.points_suppressed !== null);
  const sum = (name) => whole.reduce((total, one) => total + (one[name] ?? 0), 0);
  const [released, suppressed] = [sum("points_released"), sum("points_suppressed")];
  const share = released + suppressed ? percent(released / (released + suppressed)) : "–";
  const withheld = windows.filter((one) => one.outcome !== "released").length;
  const summary = `${number.format(released)} points released and ${number.format(suppressed)} suppressed in the last ${windows.length} windows, without windows whose counts are not published${withheld ? `; ${withheld} windows withheld` : ""}.`;
  const keys = document.createElement("p");
  keys.className = "keys";
  for (const [name, style] of [["released", "key"], ["suppressed", "key other"]]) {
    const key = document.createElement("span");
    key.className = style;
    key.textContent = `${name} `;
    keys.append(key);
  }
  return frame(title, share, summary, children, keys);
}
