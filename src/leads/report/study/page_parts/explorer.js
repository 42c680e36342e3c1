"use strict";
// A number with its name and unit: coverage 90 %.
const withUnit = ({ title, unit }, value) => `${title} ${+value.toPrecision(3)} ${unit}`.trim();
const MAPS = [["measure", "measure m(s0, s, z)"], ["uncertainty", "uncertainty u(s, z)"]];
const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

// A run as it was packed: base64 of gzipped JSON, with paths as a first point and the steps from each point to the next.
async function unpack(i) {
  const stream = new Blob([bytes(byId(`run-${i}`).textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const run = JSON.parse(await new Response(stream).text());
  const features = run.view.names.length;
  for (const snapshot of run.snapshots) {
    snapshot.paths = snapshot.paths.map((skill) => skill.map((steps) => {
      for (let k = features; k < steps.length; k++) steps[k] += steps[k - features];
      return Array.from({ length: steps.length / features }, (_, t) => steps.slice(t * features, (t + 1) * features));
    }));
  }
  return run;
}

class Explorer extends Sketch {
  constructor() {
    super(byId("canvas"));
    this.unpacked = new Map();
    this.hidden = new Set();
    fill(byId("task"), [...new Set(data.runs.map((run) => run.setting))].map((i) => [i, data.settings[i]]));
    byId("task").addEventListener("change", () => this.choose("task"));
    byId("method").addEventListener("change", () => this.choose("method"));
    byId("seed").addEventListener("change", () => this.choose("seed"));
    byId("axes").addEventListener("change", () => this.draw());
    byId("show").addEventListener("change", () => {
      this.stop();
      this.draw();
    });
    byId("epoch").addEventListener("input", () => this.draw());
    byId("play").addEventListener("click", () => this.play());
    for (const name of ["pointermove", "pointerdown"]) this.canvas.addEventListener(name, (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") this.point(null); });
    this.canvas.addEventListener("keydown", (event) => this.step(event));
    new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
    this.choose("task");
  }

  // Fills the selects below the one that was changed, and opens the run they say.
  async choose(changed) {
    const of = (wanted) => data.runs.map((run, i) => ({ ...run, i })).filter(wanted);
    const task = +byId("task").value;
    if (changed === "task") {
      const entries = [...new Set(of((run) => run.setting === task).map((run) => run.entry))];
      fill(byId("method"), entries.map((i) => [i, data.entries[i].title]));
    }
    const runs = of((run) => run.setting === task && run.entry === +byId("method").value);
    if (changed !== "seed") {
      const word = (run) => [run.best && "best", run.median && "median"].filter(Boolean).join(", ");
      fill(byId("seed"), runs.map((run) => [run.i, word(run) ? `${run.seed} (${word(run)})` : `${run.seed}`]), runs.find((run) => run.best)?.i);
    }
    const i = +byId("seed").value;
    if (!this.unpacked.has(i)) this.unpacked.set(i, await unpack(i));
    if (i === +byId("seed").value) this.open(i);
  }

  open(i) {
    this.run = this.unpacked.get(i);
    this.hidden.clear();
    this.cursor = null;
    this.stop();
    const { view, snapshots, maps, colours } = this.run;
    const last = snapshots.length - 1;
    byId("epoch").max = last;
    byId("epoch").value = last;
    fill(byId("show"), [["paths", "skills"], ...MAPS.filter(([kind]) => maps?.[kind])]);
    const pairs = view.names.flatMap((a, x) => view.names.slice(x + 1).map((b, y) => [`${x},${x + 1 + y}`, `${a} and ${b}`]));
    fill(byId("axes"), pairs.length ? pairs : [["0,-1", `${view.names[0]} and share of the episode`]]);
    byId("axes-choice").hidden = pairs.length < 2;
    byId("skills").replaceChildren(...colours.map((colour, z) => toggle(`skill ${z}`, { colour, dash: [] }, true, (on) => {
      if (on) this.hidden.delete(z); else this.hidden.add(z);
      this.draw();
    })));
    this.film(i);
    this.draw();
  }

  film(i) {
    const video = byId("film"), packed = byId(`film-${i}`);
    if (video.src) URL.revokeObjectURL(video.src);
    video.removeAttribute("src");
    video.hidden = !packed;
    const { best, median, directory, loads } = data.runs[i];
    const how = loads ? `; leads skills ${directory} makes one for the next report.` : ", and without its checkpoints none can be made.";
    byId("no-film").hidden = Boolean(packed) || this.run.view.maze;
    byId("no-film").textContent = best || median ? `There is no film of this run${how}` : "Films are shown of the best and the median seed.";
    if (packed) video.src = URL.createObjectURL(new Blob([bytes(packed.textContent)], { type: "video/mp4" }));
  }

  play() {
    if (this.timer) return this.stop();
    const slider = byId("epoch");
    if (slider.value === slider.max) slider.value = 0;
    this.draw();
    byId("play").textContent = "Stop";
    this.timer = setInterval(() => {
      slider.value = +slider.value + 1;
      this.draw();
      if (slider.value === slider.max) this.stop();
    }, 500);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    byId("play").textContent = "Play";
  }

  draw(aloud = false) {
    if (!this.run) return;
    const { snapshots, maps } = this.run, show = byId("show").value;
    byId("epoch-choice").hidden = show !== "paths" || snapshots.length < 2;
    this.canvas.classList.toggle("wide", show !== "paths");
    this.canvas.setAttribute("aria-label", show === "paths" ? "Paths of the skills. Left and right arrow keys move in time, up and down to other paths." : this.hint(show));
    this.drawn = [];
    const width = Math.max(this.canvas.clientWidth, 200);
    if (show === "paths") {
      const snapshot = snapshots[byId("epoch").value];
      this.size(width, width * this.aspect());
      this.paths({ x: 0, y: 0, width, height: width * this.aspect() }, snapshot);
      const numbers = Object.entries(snapshot.numbers).filter(([, value]) => value !== null).map(([name, value]) => withUnit(data.metrics[name], value));
      say(byId("epoch-read"), `epoch ${snapshot.epoch}, ${snapshot.samples.toLocaleString("en")} samples${numbers.length ? ": " : ""}${numbers.join(", ")}`, !this.timer);
    } else {
      this.cursor = null;
      const shown = this.run.colours.map((_, z) => z).filter((z) => !this.hidden.has(z));
      const columns = Math.min(width < 500 ? 2 : 3, Math.max(shown.length, 1)), side = width / columns;
      const high = side * this.aspect() + 20;
      this.size(width, Math.ceil(Math.max(shown.length, 1) / columns) * high);
      shown.forEach((z, k) => this.map({ x: (k % columns) * side, y: Math.floor(k / columns) * high + 20, width: side, height: high - 20 }, maps, show, z));
    }
    say(byId("canvas-read"), this.cursor ? this.tell(this.cursor) : this.hint(show), aloud);
  }

  hint(show) {
    if (show === "measure") return "How much likelier than by chance each skill visits a place, scaled to its largest; the circle is the start.";
    if (show === "uncertainty") return "Where each skill should go next, from low (dark) to high (bright), where training has been; the star is its target.";
    return this.run.snapshots.at(-1).targets ? "Circle: start. Stars: targets. Point at a path, or use arrow keys, to read it." : "Circle: start. Point at a path, or use arrow keys, to read it.";
  }

  aspect() {
    const { view } = this.run;
    return view.maze ? (view.high[1] - view.low[1]) / (view.high[0] - view.low[0]) : 0.85;
  }

  // From grains of the task's box to points of a panel.
  project(panel) {
    const { view } = this.run, [x, y] = byId("axes").value.split(",").map(Number);
    const edge = view.maze ? { left: 8, right: 8, top: 8, bottom: 8 } : { left: 50, right: 10, top: 8, bottom: 40 };
    const inner = { x: panel.x + edge.left, y: panel.y + edge.top, width: panel.width - edge.left - edge.right, height: panel.height - edge.top - edge.bottom };
    const share = (point, axis, time) => (axis < 0 ? time : point[axis] / data.grain);
    const to = (point, time = 0) => [inner.x + share(point, x, time) * inner.width, inner.y + (1 - share(point, y, time)) * inner.height];
    return { to, inner, axes: [x, y] };
  }

  paths(panel, snapshot) {
    const { colours } = this.run, { to, inner, axes } = this.project(panel), context = this.context;
    const episodes = snapshot.paths[0].length, shown = colours.map((_, z) => z).filter((z) => !this.hidden.has(z));
    this.frame(this.run.view, inner, axes, panel);
    context.save();
    context.beginPath();
    context.rect(inner.x - 4, inner.y - 4, inner.width + 8, inner.height + 8);
    context.clip();
    context.lineWidth = 1.6;
    context.lineJoin = "round";
    for (let e = 0; e < episodes; e++) {
      for (const z of shown) {
        const path = snapshot.paths[z][e], points = path.map((point, t) => to(point, t / (path.length - 1)));
        context.strokeStyle = colours[z];
        context.globalAlpha = 0.65;
        context.beginPath();
        points.forEach(([x, y], t) => {
          const jump = t && (Math.abs(x - points[t - 1][0]) > inner.width / 2 || Math.abs(y - points[t - 1][1]) > inner.height / 2);
          if (t && !jump) context.lineTo(x, y); else context.moveTo(x, y);
        });
        context.stroke();
        context.globalAlpha = 1;
        context.fillStyle = colours[z];
        context.beginPath();
        context.arc(...points.at(-1), 3, 0, 7);
        context.fill();
        points.forEach((place, t) => this.drawn.push({ z, e, t, place, point: path[t], time: Math.round((snapshot.lengths[z][e] * t) / (path.length - 1)), of: snapshot.lengths[z][e] }));
      }
    }
    context.restore();
    this.walls(this.run.view, to);
    this.start(to(snapshot.paths[0][0][0]));
    if (snapshot.targets) for (const z of shown) this.star(to(snapshot.targets[z], 1), colours[z], inner);
    if (this.cursor) {
      const here = this.drawn.find(({ z, e, t }) => z === this.cursor.z && e === this.cursor.e && t === this.cursor.t);
      this.cursor = here || null;
      if (here) this.ring(here.place);
    }
  }

  map(panel, maps, kind, z) {
    const { to, inner, axes } = this.project(panel), context = this.context, { snapshots, colours } = this.run;
    this.frame(this.run.view, inner, axes, panel);
    const levels = bytes(maps[kind][z]), ramp = kind === "measure" ? data.heat : data.viridis;
    const colour = (level) => ramp[Math.round((level / 254) * (ramp.length - 1))];
    if (maps.points) {
      const order = [...levels.keys()].sort((a, b) => levels[a] - levels[b]);
      context.save();
      context.beginPath();
      context.rect(inner.x, inner.y, inner.width, inner.height);
      context.clip();
      for (const k of order) {
        context.fillStyle = colour(kind === "measure" ? 254 * Math.sqrt(levels[k] / 254) : levels[k]);
        context.beginPath();
        context.arc(...to(maps.points[k]), 2.6, 0, 7);
        context.fill();
        context.lineWidth = 0.3;
        context.strokeStyle = "#5b6270";
        context.stroke();
      }
      context.restore();
    } else {
      const side = Math.sqrt(levels.length), across = inner.width / side, up = inner.height / side;
      levels.forEach((level, k) => {
        if (level === 255) return;
        context.fillStyle = colour(level);
        context.fillRect(inner.x + (k % side) * across, inner.y + inner.height - (Math.floor(k / side) + 1) * up, across + 0.6, up + 0.6);
      });
    }
    this.walls(this.run.view, to);
    this.start(to(snapshots.at(-1).paths[0][0][0]));
    if (kind === "uncertainty") this.star(to(snapshots.at(-1).targets[z]), colours[z], inner);
    context.fillStyle = colours[z];
    context.font = "600 13px system-ui, sans-serif";
    context.textAlign = "center";
    context.fillRect(inner.x + inner.width / 2 - 44, panel.y - 11, 14, 5);
    context.fillStyle = "#20242c";
    context.fillText(`skill ${z}`, inner.x + inner.width / 2, panel.y - 5);
  }

  hover(event) {
    const place = this.canvas.getBoundingClientRect(), [x, y] = [event.clientX - place.left, event.clientY - place.top];
    const far = (d) => Math.hypot(d.place[0] - x, d.place[1] - y);
    const near = this.drawn.reduce((best, d) => (best && far(best) <= far(d) ? best : d), null);
    this.point(near && far(near) < 24 ? near : null);
  }

  // Draws again only if the cursor goes elsewhere: a map takes long.
  point(cursor, aloud = false) {
    if (cursor === this.cursor) return;
    this.cursor = cursor;
    this.draw(aloud);
  }

  // Arrow keys: left and right in time, up and down to the next path.
  step(event) {
    const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!move || !this.drawn.length || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const inOrder = [...this.drawn].sort((a, b) => a.z - b.z || a.e - b.e);
    const paths = [...new Set(inOrder.map((d) => `${d.z},${d.e}`))];
    const length = this.drawn.length / paths.length;
    const path = this.cursor ? (paths.indexOf(`${this.cursor.z},${this.cursor.e}`) + move[0] + paths.length) % paths.length : 0;
    const t = this.cursor ? Math.max(0, Math.min(length - 1, this.cursor.t + move[1])) : length - 1;
    this.point(this.drawn.find((d) => `${d.z},${d.e}` === paths[path] && d.t === t), true);
  }

  tell({ z, e, time, of, point }) {
    const { view } = this.run;
    const value = (v, i) => `${view.names[i]} ${(view.low[i] + (v / data.grain) * (view.high[i] - view.low[i])).toFixed(2)}`;
    return `skill ${z}, episode ${e}, step ${time} of ${of}: ${point.map(value).join(", ")}`;
  }
}

if (data.runs.length) new Explorer();
else byId("explorer").hidden = true;
