// A map of one release in SVG, without a library: pan, zoom, graticule and scale bar.
// The projection is equirectangular around the middle of the data; with map tiles it is Mercator, as the tiles are.

const SVG = "http://www.w3.org/2000/svg";
const DEGREE_M = 111194.9;
const LABEL_GAP_PX = 90;
const MOST_STEPS = 400;
const MOST_TILES = 64;

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const radians = (degrees) => (degrees * Math.PI) / 180;
const turn = (degrees) => ((((degrees + 180) % 360) + 360) % 360) - 180;
const mercator = (lat) => (Math.asinh(Math.tan(radians(Math.max(-85, Math.min(85, lat))))) * 180) / Math.PI;
const unMercator = (y) => (Math.atan(Math.sinh(radians(y))) * 180) / Math.PI;

class Projection {
  constructor(lat0, lon0, onTiles) {
    this.lat0 = lat0;
    this.lon0 = lon0;
    this.narrow = Math.max(0.01, Math.cos(radians(lat0)));
    this.up = onTiles ? (lat) => (mercator(lat) - mercator(lat0)) * this.narrow : (lat) => lat - lat0;
    this.down = onTiles ? (y) => unMercator(y / this.narrow + mercator(lat0)) : (y) => y + lat0;
  }
  // Metres east and south of the middle. `near` keeps the corners of one shape on one side of the date line.
  of(lat, lon, near = 0) {
    let east = turn(lon - this.lon0);
    east += 360 * Math.round((near - east) / 360);
    return [east * this.narrow * DEGREE_M, -this.up(lat) * DEGREE_M];
  }
  path(corners, close) {
    let near = 0;
    const parts = corners.map(([lat, lon], i) => {
      const [x, y] = this.of(lat, lon, near);
      near = x / this.narrow / DEGREE_M;
      return `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    });
    return parts.join("") + (close ? "Z" : parts.length === 1 ? "h0" : "");
  }
  back(x, y) {
    return [this.down(-y / DEGREE_M), x / this.narrow / DEGREE_M + this.lon0];
  }
}

function nice(least) {
  const ten = 10 ** Math.floor(Math.log10(least));
  return ten * [1, 2, 5, 10].find((step) => step * ten >= least * (1 - 1e-9));
}

export function metres(value) {
  return value >= 1000 ? `${+(value / 1000).toPrecision(3)}\u00a0km` : `${+value.toPrecision(3)}\u00a0m`;
}

function degrees(value, step, [positive, negative]) {
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  return `${Math.abs(value).toFixed(digits)}°\u00a0${value < 0 ? negative : positive}`;
}

// The middle of the data; it may lie across the date line.
function middle(positions) {
  let east = 0;
  let north = 0;
  let [least, most] = [90, -90];
  for (const [lat, lon] of positions) {
    east += Math.cos(radians(lon));
    north += Math.sin(radians(lon));
    least = Math.min(least, lat);
    most = Math.max(most, lat);
  }
  return [(least + most) / 2, (Math.atan2(north, east) * 180) / Math.PI];
}

// How many of the released sequences visit each generalized location; of flows, how many people they count there.
export function visitsOf(shapes) {
  const visits = shapes.regions.map(() => 0);
  for (const { locations, people } of shapes.trajectories) for (const i of new Set(locations)) visits[i] += people ?? 1;
  return visits;
}

// Whether a release has flows, numbers of people from place to place, instead of sequences.
export const hasFlows = (shapes) => shapes.trajectories.some((one) => one.people);

export class ReleaseMap {
  constructor(container, describedBy) {
    this.container = container;
    this.tileUrl = null;
    this.view = { x: 0, y: 0, scale: 0.01 };
    this.size = { width: 0, height: 0 };
    this.bounds = null;
    this.moved = false;
    this.tiles = new Map();
    container.setAttribute("role", "group");
    container.setAttribute("tabindex", "0");
    container.setAttribute("aria-label", "Map. Arrow keys move it, plus and minus zoom, 0 shows everything.");
    container.setAttribute("aria-describedby", describedBy);
    this.layers = Object.fromEntries(["tiles", "graticule", "shapes", "labels"].map((n) => [n, svg("g", { class: n })]));
    this.picture = svg("svg", { role: "img", "aria-label": "Released locations and trajectories; the table below lists them" });
    this.picture.append(...Object.values(this.layers));
    const buttons = document.createElement("div");
    buttons.className = "buttons";
    const button = (text, label, act) => {
      const element = document.createElement("button");
      element.type = "button";
      element.textContent = text;
      element.setAttribute("aria-label", label);
      element.addEventListener("click", act);
      buttons.append(element);
    };
    button("+", "Zoom in", () => this.zoom(1.6));
    button("−", "Zoom out", () => this.zoom(1 / 1.6));
    button("All", "Show everything", () => this.fit());
    this.hint = document.createElement("p");
    this.hint.className = "hint";
    this.hint.setAttribute("aria-hidden", "true");
    container.append(this.picture, buttons, this.hint);
    this.listen();
    new ResizeObserver(() => this.resize()).observe(container);
  }

  listen() {
    const { container, picture } = this;
    container.addEventListener("keydown", (event) => {
      if (event.target !== container || event.ctrlKey || event.metaKey || event.altKey) return;
      const step = 60 / this.view.scale;
      const acts = {
        ArrowLeft: () => this.pan(-step, 0),
        ArrowRight: () => this.pan(step, 0),
        ArrowUp: () => this.pan(0, -step),
        ArrowDown: () => this.pan(0, step),
        "+": () => this.zoom(1.6),
        "=": () => this.zoom(1.6),
        "-": () => this.zoom(1 / 1.6),
        0: () => this.fit(),
      };
      if (!acts[event.key]) return;
      event.preventDefault();
      acts[event.key]();
    });
    let grip = null;
    picture.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button !== 0) return;
      grip = [event.clientX, event.clientY];
      picture.setPointerCapture(event.pointerId);
    });
    picture.addEventListener("pointermove", (event) => {
      if (!grip) return;
      this.pan((grip[0] - event.clientX) / this.view.scale, (grip[1] - event.clientY) / this.view.scale);
      grip = [event.clientX, event.clientY];
    });
    for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, () => (grip = null));
    picture.addEventListener("dblclick", (event) => this.zoom(2, ...this.inside(event)));
    picture.addEventListener(
      "wheel",
      (event) => {
        // The wheel zooms only while the map has focus, or with Ctrl; otherwise it scrolls the page.
        if (!event.ctrlKey && document.activeElement !== container) return;
        event.preventDefault();
        this.zoom(1.0015 ** -event.deltaY, ...this.inside(event));
      },
      { passive: false },
    );
    // One finger scrolls the page, two move the map.
    let pinch = null;
    const fingers = ({ touches: [a, b] }) => ({
      at: { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2 },
      apart: Math.max(1, Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY)),
    });
    const touch = (event) => {
      if (event.touches.length !== 2) return void (pinch = null);
      event.preventDefault();
      const now = fingers(event);
      if (pinch) {
        this.pan((pinch.at.clientX - now.at.clientX) / this.view.scale, (pinch.at.clientY - now.at.clientY) / this.view.scale);
        this.zoom(now.apart / pinch.apart, ...this.inside(now.at));
      }
      pinch = now;
    };
    for (const name of ["touchstart", "touchmove", "touchend"]) picture.addEventListener(name, touch, { passive: false });
  }

  inside(event) {
    const box = this.picture.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  pan(x, y) {
    this.view.x += x;
    this.view.y += y;
    this.moved = true;
    this.refresh();
  }

  zoom(factor, px = this.size.width / 2, py = this.size.height / 2) {
    const { view, size } = this;
    const scale = Math.max(1e-6, Math.min(10, view.scale * factor));
    view.x += (px - size.width / 2) * (1 / view.scale - 1 / scale);
    view.y += (py - size.height / 2) * (1 / view.scale - 1 / scale);
    view.scale = scale;
    this.moved = true;
    this.refresh();
  }

  fit() {
    if (!this.bounds || !this.size.width) return;
    const [left, top, right, bottom] = this.bounds;
    const [wide, high] = [Math.max(right - left, 500), Math.max(bottom - top, 500)];
    const scale = 0.88 * Math.min(this.size.width / wide, this.size.height / high);
    this.view = { x: (left + right) / 2, y: (top + bottom) / 2, scale: Math.max(1e-6, Math.min(10, scale)) };
    this.moved = false;
    this.refresh();
  }

  resize() {
    this.size = { width: this.container.clientWidth, height: this.container.clientHeight };
    if (this.moved) this.refresh();
    else this.fit();
  }

  show(shapes) {
    const tracks = shapes.trajectories.filter((one) => one.points);
    const positions = [
      ...shapes.regions.flatMap((region) => [[region.lat, region.lon], ...region.cells.flat()]),
      ...tracks.flatMap((one) => one.points),
    ];
    if (!positions.length) return this.layers.shapes.replaceChildren();
    const [lat, lon] = middle(positions);
    const far = this.projection && (Math.abs(lat - this.projection.lat0) > 2 || Math.abs(turn(lon - this.projection.lon0)) > 2);
    if (!this.projection || far) {
      this.projection = new Projection(lat, lon, this.tileUrl !== null);
      this.moved = false;
    }
    this.bounds = [Infinity, Infinity, -Infinity, -Infinity];
    for (const position of positions) {
      const [x, y] = this.projection.of(...position);
      const [left, top, right, bottom] = this.bounds;
      this.bounds = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
    }
    this.layers.shapes.replaceChildren(...this.regions(shapes), ...this.steps(shapes), ...this.centres(shapes), ...this.tracks(tracks));
    if (this.moved) this.refresh();
    else this.fit();
  }

  regions(shapes) {
    const visits = visitsOf(shapes);
    const most = Math.max(1, ...visits);
    return shapes.regions.map((region, i) => {
      const isPoints = region.cells.every((corners) => corners.length === 1);
      const d = region.cells.map((corners) => this.projection.path(corners, corners.length > 1)).join("");
      const what = hasFlows(shapes) ? `${region.members.join(", ")}: flows count ${visits[i]} people here` : `${region.n_members} locations released as one, visited by ${visits[i]} of the sequences`;
      const title = svg("title", {}, what);
      const opacity = (0.15 + (0.5 * visits[i]) / most).toFixed(2);
      return svg("path", { class: `${isPoints ? "dots" : "cells"} r${i % 8}`, d, "fill-opacity": opacity }, title);
    });
  }

  centres(shapes) {
    return shapes.regions.map((region, i) =>
      svg("path", { class: `centre r${i % 8}`, d: this.projection.path([[region.lat, region.lon]], false) }),
    );
  }

  // Lines between places, wider the more people went, with a dot at the end. A flow bends to its right, so that the way
  // back is beside it.
  flows(shapes) {
    const moving = shapes.trajectories.filter(({ locations: [from, to] }) => from !== to);
    const most = Math.max(1, ...moving.map((one) => one.people));
    return moving.sort((a, b) => b.people - a.people).slice(0, MOST_STEPS).flatMap(({ locations, people }) => {
      const [from, to] = locations.map((i) => shapes.regions[i]);
      const [x, y] = this.projection.of(from.lat, from.lon);
      const [toX, toY] = this.projection.of(to.lat, to.lon, x / this.projection.narrow / DEGREE_M);
      const [bendX, bendY] = [(x + toX) / 2 - (toY - y) / 6, (y + toY) / 2 + (toX - x) / 6];
      const d = `M${x.toFixed(1)} ${y.toFixed(1)}Q${bendX.toFixed(1)} ${bendY.toFixed(1)} ${toX.toFixed(1)} ${toY.toFixed(1)}`;
      const near = (a, bend, b) => (0.01 * a + 0.18 * bend + 0.81 * b).toFixed(1); // nine tenths of the way
      const end = `M${near(x, bendX, toX)} ${near(y, bendY, toY)}h0`;
      const width = 1 + (7 * people) / most;
      const title = svg("title", {}, `${people} people from ${from.members.join(", ")} to ${to.members.join(", ")}`);
      return [
        svg("path", { class: "step", "stroke-width": width.toFixed(1), d }, title),
        svg("path", { class: "head", "stroke-width": (width + 4).toFixed(1), d: end }),
      ];
    });
  }

  // Lines between generalized locations, wider the more often released sequences go from one to the next.
  steps(shapes) {
    if (hasFlows(shapes)) return this.flows(shapes);
    const counts = new Map();
    for (const { locations } of shapes.trajectories) {
      for (let i = 1; locations && i < locations.length; i++) {
        if (locations[i - 1] === locations[i]) continue;
        const step = `${locations[i - 1]} ${locations[i]}`;
        counts.set(step, (counts.get(step) ?? 0) + 1);
      }
    }
    const found = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MOST_STEPS);
    return found.map(([step, n]) => {
      const ends = step.split(" ").map((i) => [shapes.regions[i].lat, shapes.regions[i].lon]);
      const width = Math.min(8, 0.8 + Math.sqrt(n)).toFixed(1);
      return svg("path", { class: "step", "stroke-width": width, d: this.projection.path(ends, false) });
    });
  }

  tracks(tracks) {
    const ends = tracks.map(({ points }) => this.projection.path(points.slice(-1), false)).join("");
    const lines = tracks.map(({ points }) => svg("path", { class: "track", d: this.projection.path(points, false) }));
    return [...lines, svg("path", { class: "ends", d: ends })];
  }

  refresh() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = null;
      const { view, size } = this;
      if (!this.projection || !size.width) return;
      const [dx, dy] = [size.width / 2 - view.x * view.scale, size.height / 2 - view.y * view.scale];
      this.layers.shapes.setAttribute("transform", `translate(${dx} ${dy}) scale(${view.scale})`);
      this.drawGraticule(dx, dy);
      this.drawTiles(dx, dy);
    });
  }

  drawGraticule(dx, dy) {
    const { view, size, projection } = this;
    const [north, west] = projection.back(-dx / view.scale, -dy / view.scale);
    const [south, east] = projection.back((size.width - dx) / view.scale, (size.height - dy) / view.scale);
    const [across, along] = [(east - west) / size.width, (north - south) / size.height].map((d) => nice(d * LABEL_GAP_PX));
    const lines = [];
    const labels = [];
    for (let i = Math.ceil(west / across); i * across <= east && lines.length < 60; i++) {
      const x = ((i * across - projection.lon0) * projection.narrow * DEGREE_M * view.scale + dx).toFixed(1);
      lines.push(`M${x} 0V${size.height}`);
      labels.push(svg("text", { x, y: 14, "text-anchor": "middle" }, degrees(turn(i * across), across, ["E", "W"])));
    }
    for (let i = Math.ceil(south / along); i * along <= north && lines.length < 120; i++) {
      if (Math.abs(i * along) > 90) continue;
      const y = +(dy - projection.up(i * along) * DEGREE_M * view.scale).toFixed(1);
      lines.push(`M0 ${y}H${size.width}`);
      if (y > 30 && y < size.height - 40) labels.push(svg("text", { x: 4, y: y - 3 }, degrees(i * along, along, ["N", "S"])));
    }
    this.layers.graticule.replaceChildren(svg("path", { d: lines.join("") }));
    const length = nice(60 / view.scale);
    const [end, foot] = [12 + length * view.scale, size.height - 12];
    const bar = svg("path", { class: "bar", d: `M12 ${foot - 6}V${foot}H${end.toFixed(1)}V${foot - 6}` });
    this.layers.labels.replaceChildren(...labels, bar, svg("text", { x: 14, y: foot - 8 }, metres(length)));
  }

  drawTiles(dx, dy) {
    if (!this.tileUrl) return;
    const { view, size, projection } = this;
    const world = 360 * projection.narrow * DEGREE_M * view.scale;
    const z = Math.max(0, Math.min(19, Math.round(Math.log2(world / 256))));
    const n = 2 ** z;
    const side = world / n;
    const left = dx - ((projection.lon0 + 180) / 360) * world;
    const top = dy - ((180 - mercator(projection.lat0)) / 360) * world;
    const wanted = new Map();
    for (let y = Math.max(0, Math.floor(-top / side)); y < n && top + y * side < size.height; y++) {
      for (let x = Math.floor(-left / side); left + x * side < size.width && wanted.size < MOST_TILES; x++) {
        wanted.set(`${z}/${x}/${y}`, [x, y]);
      }
    }
    for (const [name, [x, y]] of wanted) {
      const tile = this.tiles.get(name) ?? svg("image", { href: this.tileAddress(z, ((x % n) + n) % n, y) });
      const place = { x: left + x * side, y: top + y * side, width: side + 0.5, height: side + 0.5 };
      for (const [key, value] of Object.entries(place)) tile.setAttribute(key, value.toFixed(1));
      this.tiles.set(name, tile);
    }
    for (const name of this.tiles.keys()) if (!wanted.has(name)) this.tiles.delete(name);
    this.layers.tiles.replaceChildren(...this.tiles.values());
  }

  tileAddress(z, x, y) {
    return this.tileUrl.replace("{z}", z).replace("{x}", x).replace("{y}", y);
  }

  useTiles(url) {
    this.tileUrl = url;
    this.hint.textContent = url ? `map tiles: ${new URL(url).host}` : "";
  }
}
