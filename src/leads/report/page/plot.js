"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

// Fills a select with [value, text] pairs, and keeps what was chosen if it is still there.
function fill(select, pairs, wanted = select.value) {
  select.replaceChildren(...pairs.map(([value, text]) => new Option(text, value)));
  if (pairs.some(([value]) => String(value) === String(wanted))) select.value = wanted;
}

// A button that is on or off, with a line in its colour.
function toggle(text, colour, on, change) {
  const button = document.createElement("button");
  const line = document.createElement("i");
  line.style.background = colour;
  button.type = "button";
  button.append(line, text);
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

// Lines with bands, in a box whose width is that of the page; a pointer reads the values below it.
class Plot {
  constructor(root, read) {
    [this.root, this.read] = [root, read];
    root.addEventListener("pointermove", (event) => this.point(event));
    root.addEventListener("pointerleave", () => { this.read.textContent = ""; this.cursor?.setAttribute("visibility", "hidden"); });
    new ResizeObserver(() => this.shown && this.draw(this.shown)).observe(root);
  }

  draw(shown) {
    this.shown = shown;
    const width = Math.min(this.root.clientWidth, 960), height = width < 500 ? 300 : 400;
    const box = { left: 48, right: width - 18, top: 12, bottom: height - 44 };
    const x = (v) => box.left + ((v - shown.x[0]) / (shown.x[1] - shown.x[0] || 1)) * (box.right - box.left);
    const y = (v) => box.bottom - ((v - shown.y[0]) / (shown.y[1] - shown.y[0] || 1)) * (box.bottom - box.top);
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": shown.label });
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
    drawing.append(svg("text", { x: box.left + 6, y: box.top + 10, ...words }, shown.yName));
    drawing.append(svg("text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle", ...words }, shown.xName));
    const within = (v) => Math.max(box.top - 4, Math.min(box.bottom, v));
    const line = (c, of) => c.x.map((v, i) => `${x(v).toFixed(1)},${within(y(of[i])).toFixed(1)}`);
    for (const { curve, colour } of shown.lines) {
      const band = [...line(curve, curve.high), ...line(curve, curve.low).reverse()].join(" ");
      drawing.append(svg("polygon", { points: band, fill: colour, "fill-opacity": 0.16 }));
    }
    for (const { curve, colour, title, mark } of shown.lines) {
      const path = svg("polyline", { points: line(curve, curve.mean).join(" "), fill: "none", stroke: colour, "stroke-width": 2.4, "stroke-linejoin": "round", "data-title": title });
      drawing.append(path);
      if (curve.x[0] === curve.x.at(-1)) drawing.append(svg("circle", { cx: x(curve.x[0]), cy: y(curve.mean[0]), r: 4, fill: colour }));
      if (mark !== null) {
        const at = y(mark), right = box.right;
        drawing.append(svg("polygon", { points: `${right},${at} ${right + 11},${at - 6} ${right + 11},${at + 6}`, fill: colour, stroke: "#fff", "stroke-width": 0.7, class: "published" }));
      }
    }
    this.cursor = svg("line", { y1: box.top, y2: box.bottom, stroke: "#454b57", "stroke-dasharray": "3 3", visibility: "hidden" });
    drawing.append(this.cursor);
    this.box = box;
    this.root.replaceChildren(drawing);
  }

  point(event) {
    if (!this.shown) return;
    const place = this.root.firstElementChild.getBoundingClientRect();
    const share = (event.clientX - place.left - this.box.left) / (this.box.right - this.box.left);
    if (share < 0 || share > 1) return;
    const [low, high] = this.shown.x, v = low + share * (high - low);
    const at = this.box.left + share * (this.box.right - this.box.left);
    for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, at);
    this.cursor.setAttribute("visibility", "visible");
    const near = (c) => c.x.reduce((best, u, i) => (Math.abs(u - v) < Math.abs(c.x[best] - v) ? i : best), 0);
    const said = this.shown.lines
      .map(({ curve, title }) => ({ title, value: curve.mean[near(curve)] }))
      .sort((a, b) => b.value - a.value)
      .map(({ title, value }) => `${title} ${value.toPrecision(3)}`);
    this.read.textContent = `${this.shown.xName} ${short(v)}: ${said.join(", ")}`;
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
    byId(`${name}-methods`).childNodes.forEach((button, i) => { button.hidden = !curves[i]; button.title = curves[i] ? `${curves[i].n} runs` : ""; });
  };
  byId(`${name}-methods`).replaceChildren(...data.entries.map(({ title, colour }, i) => toggle(title, colour, true, (on) => {
    if (on) hidden.delete(i); else hidden.add(i);
    draw();
  })));
  for (const select of selects) select.addEventListener("change", draw);
  draw();
}

fill(byId("curve-setting"), data.settings.map((title, i) => [i, title]));
fill(byId("curve-number"), Object.entries(data.numbers));
methodPlot("curve", [byId("curve-setting"), byId("curve-number")], () => {
  const setting = +byId("curve-setting").value, number = byId("curve-number").value;
  return {
    curves: data.curves[number][setting],
    marks: number === "coverage" ? data.published[setting] : null,
    x: [0, data.samples[setting]], y: [0, number === "distinctness" ? 1 : 100], xName: "samples", yName: data.numbers[number],
    label: `${data.numbers[number]} against samples on ${data.settings[setting]}`,
  };
});

fill(byId("profile-number"), Object.keys(data.profiles).map((name) => [name, data.numbers[name].replace(" %", "")]));
methodPlot("profile", [byId("profile-number")], () => {
  const number = byId("profile-number").value;
  return {
    curves: data.profiles[number], marks: null, x: [0, 1], y: [0, 1], yName: "share of runs above",
    xName: `relative ${number.replace("_", " ")}`, label: `share of runs above a relative ${number.replace("_", " ")}`,
  };
});
