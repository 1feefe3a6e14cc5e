// The live page: asks its worker for its status every two seconds, and for its windows if there are new ones.
// `shoal view` shows the folder of a replay with the same page.

import { charts, clock, lossOf, seconds } from "./charts.js";
import { ReleaseMap, hasFlows, metres, visitsOf } from "./map.js";

const EVERY_MS = 2000;
const PATIENCE_MS = 5000;
const NEWS_EVERY_MS = 10000;
const TABLE_ROWS = 100;
const SHORT_ROWS = 12; // the same as in page.css

const at = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
const told = (value) => (value === null ? "not published" : number.format(value));
const words = (name) => name.replaceAll("_", " ");
const map = new ReleaseMap(at("map"), "map-summary");

let windows = [];
let started = null;
let total = -1;
let drawn = null;
let source = "The worker";
let isAway = false;
let isPaused = false;
let isAsking = false;
let timer = null;
let newsSince = -NEWS_EVERY_MS;
let untold = 0;
const rows = new Map();

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Roles are explicit: on a small screen rows are shown as cards, and a table would lose its implicit roles.
function row(labels, cells, numbers = []) {
  const made = cells.map((cell, i) => {
    const attributes = { role: i ? "cell" : "rowheader", "data-label": labels[i] };
    if (!i) attributes.scope = "row";
    if (numbers.includes(i)) attributes.class = "number";
    return element(i ? "td" : "th", attributes, cell);
  });
  return element("tr", { role: "row" }, ...made);
}

const labelsOf = (body) => [...body.closest("table").querySelectorAll("thead th")].map((cell) => cell.textContent);

// What is different where the page shows a folder: nothing new comes, and there are no durations.
function showSource({ replay }) {
  if (replay === null) return;
  source = "shoal view";
  document.documentElement.classList.add("replay");
  document.title = `Shoal: releases of ${replay}`;
  at("lead").textContent = `The releases of a replay, from the folder ${replay}. They are anonymized data only.`;
  at("withheld-caption").textContent = "Windows without a release, by reason";
  at("pause").hidden = true;
}

function showStatus(status) {
  const badge = at("state");
  const state = status.replay === null ? "ready" : "replay";
  badge.textContent = status.ready ? state : `waiting for ${status.waiting_for.join(", ")}`;
  badge.className = `badge ${status.ready ? "good" : "bad"}`;
  const counts = Object.entries(status.counts).map(([outcome, n]) => `${number.format(n)} ${outcome}`);
  const since = `${status.replay === null ? "since" : "written"} ${status.started.slice(0, 16).replace("T", " ")} UTC`;
  at("since").textContent = `${since}: ${counts.join(", ")}`;
  const labels = labelsOf(at("models"));
  const models = status.feeds.map((feed) => {
    const parameters = Object.entries(feed.parameters).map(([name, value]) => `${words(name)} ${value}`);
    return row(labels, [feed.kind, feed.model, parameters.join(", "), feed.shard, feed.window, feed.promise]);
  });
  at("models").replaceChildren(...models);
  at("withheld-table").hidden = !status.withheld.length;
  at("no-withheld").hidden = status.withheld.length > 0;
  const names = labelsOf(at("withheld"));
  const reasons = status.withheld.map((one) => row(names, [words(one.reason), number.format(one.windows), one.meaning], [1]));
  at("withheld").replaceChildren(...reasons);
}

function windowRow(one, labels) {
  const isReleased = one.outcome === "released";
  const loss = lossOf(one);
  const counts = [one.people, one.trajectories, one.points_released, one.points_suppressed];
  const made = row(
    labels,
    [
      clock(one),
      one.kind,
      one.shard,
      isReleased ? "released" : `${one.outcome}: ${words(one.reason ?? "")}`,
      ...counts.map((value) => (isReleased ? told(value) : "")),
      isReleased ? `${told(one.smallest_support)}, k = ${one.parameters.k}` : "",
      loss === null ? "" : metres(loss),
      seconds(one.close_to_release_s),
      "",
    ],
    [4, 5, 6, 7, 8, 9, 10],
  );
  made.className = `${one.outcome}-row`;
  made.children[3].classList.add("outcome");
  made.children[10].classList.add("live");
  return made;
}

function showWindows(isFirst) {
  const body = at("windows");
  const labels = labelsOf(body);
  const kept = new Set(windows.map((one) => one.release));
  for (const [release, shown] of rows) if (!kept.has(release)) (shown.remove(), rows.delete(release));
  // Existing rows stay in the document, so that keyboard focus is not lost.
  for (const one of [...windows].reverse()) {
    if (!rows.has(one.release)) {
      const made = windowRow(one, labels);
      if (!isFirst) made.classList.add("fresh");
      body.prepend(made);
      rows.set(one.release, made);
    }
    showMapButton(rows.get(one.release).lastElementChild, one);
  }
  at("no-windows").hidden = windows.length > 0;
  at("more").hidden = windows.length <= SHORT_ROWS;
  at("windows-table").hidden = windows.length === 0;
}

function showMapButton(cell, one) {
  if (!one.on_map) return cell.replaceChildren();
  if (cell.firstElementChild) return;
  const button = element("button", { type: "button", "aria-label": `Show ${one.kind} ${clock(one)}, shard ${one.shard}, on the map` }, "Show");
  button.addEventListener("click", () => {
    fillChoice(one.release);
    draw();
    at("map").scrollIntoView({ block: "center" });
    at("map").focus();
  });
  cell.replaceChildren(button);
}

function showCharts() {
  const kinds = [...new Set(windows.map((one) => one.kind))].sort();
  const parts = kinds.flatMap((kind) => {
    const own = windows.filter((one) => one.kind === kind);
    return [element("h3", {}, `${kind}: ${own[0].model}`), charts(own, source === "The worker")];
  });
  if (parts.length) at("charts").replaceChildren(...parts);
}

// ---------------------------------------------------------------- the map

function fillChoice(wanted) {
  const choice = at("choice");
  const mapped = windows.filter((one) => one.on_map);
  const kinds = [...new Set(mapped.map((one) => one.kind))].sort();
  const options = kinds.map((kind) => element("option", { value: `newest ${kind}` }, `newest window of ${kind}`));
  const each = mapped.map((one) => element("option", { value: one.release }, `${clock(one)} ${one.kind}, shard ${one.shard}`));
  const before = wanted ?? choice.value;
  choice.replaceChildren(...options, element("optgroup", { label: "One window" }, ...each));
  choice.disabled = !mapped.length;
  choice.value = before;
  if (choice.selectedIndex < 0 && options.length) choice.value = options[0].value;
}

function chosen() {
  const wanted = at("choice").value;
  const mapped = windows.filter((one) => one.on_map);
  return mapped.find((one) => one.release === wanted || `newest ${one.kind}` === wanted) ?? mapped[0];
}

async function draw() {
  const one = chosen();
  if (!one || one.release === drawn) return;
  drawn = one.release;
  try {
    const shapes = await ask(`api/windows?release=${encodeURIComponent(one.release)}`);
    if (drawn !== one.release) return;
    map.show(shapes);
    describe(one, shapes);
  } catch {
    if (drawn === one.release) drawn = null;
  }
}

function describe(one, shapes) {
  const some = (shown, all) => (shown === all ? number.format(all) : `${number.format(shown)} of ${number.format(all)}`);
  const many = (shown, all, what) => `${some(shown, all)} ${what}${all === 1 ? "" : "s"}`;
  const trajectories = some(shapes.trajectories.length, shapes.n_trajectories);
  const what = hasFlows(shapes)
    ? `${trajectories} released flows between ${many(shapes.regions.length, shapes.n_regions, "place")}; lines are wider the more people went, with a dot at the end`
    : shapes.n_regions
    ? `${many(shapes.regions.length, shapes.n_regions, "generalized location")} (one colour each, stronger with more visits, dots at the centres), and ${trajectories} released sequences as lines between them`
    : `${trajectories} released trajectories, with a dot at the end of each`;
  at("map-summary").textContent = `${one.kind}, ${clock(one)} UTC, shard ${one.shard}: ${what}.`;
  const draw = hasFlows(shapes) ? flowTable : shapes.n_regions ? regionTable : trackTable;
  at("map-table").replaceChildren(draw(shapes));
}

function table(caption, labels, body) {
  const heads = labels.map((label) => element("th", { role: "columnheader", scope: "col" }, label));
  return element(
    "table",
    { role: "table" },
    element("caption", {}, caption),
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...heads)),
    element("tbody", { role: "rowgroup" }, ...body),
  );
}

const first = (all) => (all > TABLE_ROWS ? `the first ${TABLE_ROWS} of ${number.format(all)}` : `${number.format(all)}`);

function regionTable(shapes) {
  const labels = ["Location", "Centre", "Places", "Members", "Sequences that visit it"];
  const visits = visitsOf(shapes);
  const body = shapes.regions.slice(0, TABLE_ROWS).map((region, i) => {
    const more = region.n_members > region.members.length ? ", …" : "";
    const centre = `${region.lat.toFixed(4)}, ${region.lon.toFixed(4)}`;
    return row(labels, [`${i + 1}`, centre, number.format(region.n_members), region.members.join(", ") + more, number.format(visits[i])]);
  });
  return table(`Generalized locations: ${first(shapes.regions.length)}`, labels, body);
}

function flowTable(shapes) {
  const labels = ["Flow", "From", "To", "People"];
  const name = (i) => shapes.regions[i].members.join(", ");
  const flows = [...shapes.trajectories].sort((a, b) => b.people - a.people);
  const body = flows.slice(0, TABLE_ROWS).map(({ locations: [from, to], people }, i) =>
    row(labels, [`${i + 1}`, name(from), from === to ? "(the same)" : name(to), number.format(people)]),
  );
  return table(`Flows, the largest first: ${first(flows.length)}`, labels, body);
}

function trackTable(shapes) {
  const labels = ["Trajectory", "From", "To", "First position", "Last position", "Points"];
  const place = ([lat, lon]) => `${lat.toFixed(4)}, ${lon.toFixed(4)}`;
  const body = shapes.trajectories.slice(0, TABLE_ROWS).map((one, i) => {
    const [begin, end] = [one.first, one.last].map((moment) => moment.slice(11, 19));
    return row(labels, [`${i + 1}`, begin, end, place(one.points[0]), place(one.points.at(-1)), number.format(one.points.length)]);
  });
  return table(`Released trajectories: ${first(shapes.trajectories.length)}; times in UTC`, labels, body);
}

// ---------------------------------------------------------------- news

function say(text) {
  at("news").textContent = text;
}

function announce(n) {
  untold += n;
  if (!untold || !windows.length || performance.now() - newsSince < NEWS_EVERY_MS) return;
  const { kind, outcome } = windows[0];
  say(`${untold} new window${untold === 1 ? "" : "s"}; the newest: ${kind}, ${clock(windows[0])}, ${outcome}.`);
  newsSince = performance.now();
  untold = 0;
}

function trouble(text) {
  at("trouble").hidden = !text;
  if (at("trouble").textContent !== text) at("trouble").textContent = text;
}

async function refresh() {
  const status = await ask("api/status");
  const isRestarted = started !== null && started !== status.started;
  const n = Object.values(status.counts).reduce((sum, count) => sum + count, 0);
  if (isAway || isRestarted) {
    say(isRestarted ? `${source} has restarted: earlier windows are no longer shown.` : `${source} answers again.`);
  }
  isAway = false;
  trouble("");
  if (started === null) {
    map.useTiles(status.tile_url);
    showSource(status);
  }
  showStatus(status);
  if (n !== total || isRestarted) {
    const isFirst = started === null;
    windows = (await ask("api/windows")).windows;
    if (isRestarted) drawn = null;
    if (document.activeElement !== at("choice") || !at("choice").value) fillChoice();
    showWindows(isFirst);
    showCharts();
    announce(isFirst || isRestarted ? 0 : n - total);
    total = n;
  } else {
    announce(0);
  }
  started = status.started;
  await draw();
}

async function tick() {
  if (isAsking) return;
  isAsking = true;
  try {
    await refresh();
  } catch {
    if (!isAway) {
      const when = new Date().toISOString().slice(11, 19);
      trouble(`${source} has not answered since ${when} UTC. This page shows older data, and tries again every 2 seconds.`);
      at("state").textContent = "does not answer";
      at("state").className = "badge bad";
    }
    isAway = true;
  }
  isAsking = false;
  if (!isPaused) timer = setTimeout(tick, EVERY_MS);
}

at("choice").addEventListener("change", () => draw());
at("choice").addEventListener("blur", () => fillChoice());
at("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  at("pause").setAttribute("aria-pressed", String(isPaused));
  clearTimeout(timer);
  if (!isPaused) tick();
});
at("more").addEventListener("click", () => {
  const isShort = at("windows").classList.toggle("short");
  at("more").setAttribute("aria-expanded", String(!isShort));
  at("more").textContent = isShort ? "Show all windows" : "Show the last windows only";
});
tick();
