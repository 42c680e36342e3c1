"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

// Fills a select with [value, text] pairs, and keeps what was chosen if it is still there.
function fill(select, pairs, wanted = select.value) {
  select.replaceChildren(...pairs.map(([value, text]) => new Option(text, value)));
  if (pairs.some(([value]) => String(value) === String(wanted))) select.value = wanted;
}

// Writes below a picture; screen readers speak of it only if asked to, as a pointer would never let them finish.
function say(element, text, aloud = false) {
  element.setAttribute("aria-live", aloud ? "polite" : "off");
  if (element.textContent !== text) element.textContent = text;
}

// A line's colour and dashes, which are in widths of the line.
const stroke = ({ colour, dash }, width) => ({ stroke: colour, "stroke-width": width, "stroke-dasharray": dash.map((part) => part * width).join(" ") || "none" });

// A button that is on or off, with a piece of its line.
function toggle(text, look, on, change) {
  const button = document.createElement("button");
  const piece = svg("svg", { width: 44, height: 8, "aria-hidden": true });
  piece.append(svg("line", { x1: 0, x2: 44, y1: 4, y2: 4, ...stroke(look, 3) }));
  button.type = "button";
  button.append(piece, text);
  button.setAttribute("aria-pressed", on);
  button.addEventListener("click", () => {
    const now = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", now);
    change(now);
  });
  return button;
}

const short = (x) => (x >= 1e6 ? `${+(x / 1e6).toFixed(2)}M` : x >= 1e3 ? `${+(x / 1e3).toFixed(1)}k` : `${+x.toPrecision(3)}`);

function svg(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Lines with bands, in a box whose width is that of the page; a pointer, a tap or arrow keys read the values at an x.
class Plot {
  constructor(root, read) {
    [this.root, this.read, this.at] = [root, read, null];
    this.drawing = svg("svg", { tabindex: 0, role: "application" });
    root.replaceChildren(this.drawing);
    for (const name of ["pointermove", "pointerdown"]) this.drawing.addEventListener(name, (event) => this.point(event));
    this.drawing.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") this.tell(null); });
    this.drawing.addEventListener("keydown", (event) => this.step(event));
    new ResizeObserver(() => this.shown && this.draw(this.shown)).observe(root);
  }

  draw(shown) {
    this.shown = shown;
    const width = Math.min(this.root.clientWidth, 960), height = width < 500 ? 300 : 400;
    const box = { left: 48, right: width - 18, top: 26, bottom: height - 44 };
    const x = (v) => box.left + ((v - shown.x[0]) / (shown.x[1] - shown.x[0] || 1)) * (box.right - box.left);
    const y = (v) => box.bottom - ((v - shown.y[0]) / (shown.y[1] - shown.y[0] || 1)) * (box.bottom - box.top);
    const drawing = this.drawing;
    drawing.replaceChildren();
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.setAttribute("aria-label", `${shown.label}. Left and right arrow keys, Home and End read the values.`);
    const grid = { stroke: "#e2e5ea", "stroke-width": 1 }, words = { fill: "#454b57", "font-size": 12 };
    for (let i = 0; i <= 5; i++) {
      const v = shown.y[0] + ((shown.y[1] - shown.y[0]) * i) / 5;
      drawing.append(svg("line", { x1: box.left, x2: box.right, y1: y(v), y2: y(v), ...grid }));
      drawing.append(svg("text", { x: box.left - 6, y: y(v) + 4, "text-anchor": "end", ...words }, +v.toFixed(2)));
    }
    const steps = width < 500 ? 4 : 5;
    for (let i = 0; i <= steps; i++) {
      const v = shown.x[0] + ((shown.x[1] - shown.x[0]) * i) / steps;
      const anchor = i === steps ? "end" : "middle";
      drawing.append(svg("text", { x: x(v) + (i === steps ? 10 : 0), y: box.bottom + 18, "text-anchor": anchor, ...words }, short(v)));
    }
    drawing.append(svg("text", { x: 0, y: 12, ...words }, shown.yName));
    drawing.append(svg("text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle", ...words }, shown.xName));
    const within = (v) => Math.max(box.top - 4, Math.min(box.bottom, v));
    const line = (c, of) => c.x.map((v, i) => `${x(v).toFixed(1)},${within(y(of[i])).toFixed(1)}`);
    for (const { curve, colour } of shown.lines) {
      const band = [...line(curve, curve.high), ...line(curve, curve.low).reverse()].join(" ");
      drawing.append(svg("polygon", { points: band, fill: colour, "fill-opacity": 0.16 }));
    }
    for (const { curve, colour, dash, title, mark } of shown.lines) {
      const path = svg("polyline", { points: line(curve, curve.mean).join(" "), fill: "none", ...stroke({ colour, dash }, 2.4), "stroke-linejoin": "round", "data-title": title });
      drawing.append(path);
      if (curve.x[0] === curve.x.at(-1)) drawing.append(svg("circle", { cx: x(curve.x[0]), cy: y(curve.mean[0]), r: 4, fill: colour }));
      if (mark !== null) {
        const at = y(mark), right = box.right;
        drawing.append(svg("polygon", { points: `${right},${at} ${right + 11},${at - 6} ${right + 11},${at + 6}`, fill: colour, stroke: "#fff", "stroke-width": 0.7, class: "published" }));
      }
    }
    this.cursor = svg("line", { y1: box.top, y2: box.bottom, stroke: "#454b57", "stroke-dasharray": "3 3", visibility: "hidden" });
    drawing.append(this.cursor);
    [this.box, this.place] = [box, x];
    this.tell(this.at);
  }

  // From where to where there are curves, and the way of an arrow key.
  range() {
    const ends = this.shown.lines.flatMap(({ curve }) => [curve.x[0], curve.x.at(-1)]);
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    return { low, high, step: (high - low) / 50 };
  }

  point(event) {
    const { box, shown } = this;
    const share = (event.clientX - this.drawing.getBoundingClientRect().left - box.left) / (box.right - box.left);
    if (share >= 0 && share <= 1) this.tell(shown.x[0] + share * (shown.x[1] - shown.x[0]));
  }

  step(event) {
    const { low, high, step } = this.range();
    const at = { Home: low, End: high, ArrowLeft: (this.at ?? high + step) - step, ArrowRight: (this.at ?? low - step) + step }[event.key];
    if (at === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.tell(at, true);
  }

  // Reads the curves that there are at an x; null reads none.
  tell(at, aloud = false) {
    const { low, high, step } = this.range(), { lines, xName } = this.shown;
    const v = at === null || !lines.length ? null : Math.max(low, Math.min(high, at));
    this.at = v;
    this.cursor.setAttribute("visibility", v === null ? "hidden" : "visible");
    if (v === null) return say(this.read, lines.length ? "Point at the plot, or use its arrow keys, to read values." : "");
    for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, this.place(v));
    const near = (c) => c.x.reduce((best, u, i) => (Math.abs(u - v) < Math.abs(c.x[best] - v) ? i : best), 0);
    const said = lines
      .filter(({ curve }) => curve.x[0] <= v + step / 2 && curve.x.at(-1) >= v - step / 2)
      .map(({ curve, title }) => ({ title, value: curve.mean[near(curve)] }))
      .sort((a, b) => b.value - a.value)
      .map(({ title, value }) => `${title} ${value.toPrecision(3)}`);
    say(this.read, `${xName} ${short(v)}: ${said.join(", ")}`, aloud);
  }
}

// Toggles of all methods above a plot; `find` gives what is known of a method for the choices made.
function methodPlot(name, selects, find) {
  const hidden = new Set(), plot = new Plot(byId(`${name}-plot`), byId(`${name}-read`));
  const draw = () => {
    const { curves, marks, ...frame } = find();
    const lines = data.entries
      .map((entry, i) => ({ ...entry, curve: curves[i], mark: marks ? marks[i] : null, i }))
      .filter(({ curve, i }) => curve && !hidden.has(i));
    plot.draw({ ...frame, lines });
    byId(`${name}-methods`).childNodes.forEach((button, i) => {
      button.hidden = !curves[i];
      button.lastChild.textContent = `${data.entries[i].title}, ${curves[i]?.of}`;
    });
  };
  byId(`${name}-methods`).replaceChildren(...data.entries.map((entry, i) => toggle(entry.title, entry, true, (on) => {
    if (on) hidden.delete(i); else hidden.add(i);
    draw();
  })));
  for (const select of selects) select.addEventListener("change", draw);
  draw();
}

fill(byId("curve-setting"), data.settings.map((title, i) => [i, title]));
methodPlot("curve", [byId("curve-setting"), byId("curve-number")], () => {
  const setting = +byId("curve-setting").value, drawn = (name) => data.curves[name][setting].some(Boolean);
  const names = Object.keys(data.metrics), known = names.filter(drawn);
  fill(byId("curve-number"), (known.length ? known : names).map((name) => [name, data.metrics[name].label]));
  const name = byId("curve-number").value, { label, largest } = data.metrics[name], curves = data.curves[name][setting];
  const top = largest ?? Math.max(1, ...curves.flatMap((curve) => curve?.high ?? []));
  return {
    curves, marks: data.published[name]?.[setting],
    x: [0, data.samples[setting]], y: [0, top], xName: "samples", yName: label,
    label: `${label} against samples on ${data.settings[setting]}`,
  };
});

fill(byId("profile-number"), Object.keys(data.profiles).map((name) => [name, name]));
methodPlot("profile", [byId("profile-number")], () => {
  const number = byId("profile-number").value;
  return {
    curves: data.profiles[number], marks: null, x: [0, 1], y: [0, 1], yName: "share of runs above",
    xName: `relative ${number}`, label: `share of runs above a relative ${number}`,
  };
});
