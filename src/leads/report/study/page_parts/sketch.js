"use strict";
// A canvas, and what pictures of skills are made of: a frame with ticks, walls, and marks.
class Sketch {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  size(width, height) {
    const ratio = window.devicePixelRatio || 1;
    [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    this.canvas.style.height = `${height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  frame(view, inner, axes, panel) {
    const context = this.context;
    context.fillStyle = "#ffffff";
    context.fillRect(panel.x, panel.y, panel.width, panel.height);
    if (view.maze) return;
    context.strokeStyle = "#8b93a1";
    context.lineWidth = 1;
    context.strokeRect(inner.x, inner.y, inner.width, inner.height);
    context.fillStyle = "#454b57";
    context.font = "12px system-ui, sans-serif";
    const ends = (axis) => (axis < 0 ? [0, 1] : [view.low[axis], view.high[axis]]);
    const name = (axis) => (axis < 0 ? "share of the episode" : view.names[axis]);
    context.textAlign = "center";
    for (let i = 0; i <= 2; i++) {
      const at = (axis) => +(ends(axis)[0] + ((ends(axis)[1] - ends(axis)[0]) * i) / 2).toFixed(2);
      context.textAlign = ["left", "center", "right"][i];
      context.fillText(at(axes[0]), inner.x + (inner.width * i) / 2, inner.y + inner.height + 15);
      context.textAlign = "right";
      context.fillText(at(axes[1]), inner.x - 5, inner.y + inner.height * (1 - i / 2) + [0, 4, 9][i]);
    }
    context.textAlign = "center";
    context.fillText(name(axes[0]), inner.x + inner.width / 2, inner.y + inner.height + 32);
    context.save();
    context.translate(panel.x + 14, inner.y + inner.height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(name(axes[1]), 0, 0);
    context.restore();
  }

  walls(view, to) {
    const context = this.context;
    const grain = (v, i) => ((v - view.low[i]) / (view.high[i] - view.low[i])) * data.grain;
    context.strokeStyle = "#20242c";
    context.lineWidth = 4;
    context.lineCap = "round";
    for (const [x1, y1, x2, y2] of view.walls) {
      context.beginPath();
      context.moveTo(...to([grain(x1, 0), grain(y1, 1)]));
      context.lineTo(...to([grain(x2, 0), grain(y2, 1)]));
      context.stroke();
    }
  }

  start([x, y]) {
    this.context.beginPath();
    this.context.arc(x, y, 5.5, 0, 7);
    this.context.fillStyle = "#ffffff";
    this.context.fill();
    this.context.lineWidth = 1.5;
    this.context.strokeStyle = "#000000";
    this.context.stroke();
  }

  star([x, y], colour, inner) {
    const within = (v, low, size) => Math.max(low, Math.min(low + size, v)), context = this.context;
    [x, y] = [within(x, inner.x, inner.width), within(y, inner.y, inner.height)];
    context.beginPath();
    for (let k = 0; k < 10; k++) {
      const angle = (Math.PI * k) / 5 - Math.PI / 2, size = k % 2 ? 4 : 10;
      context.lineTo(x + size * Math.cos(angle), y + size * Math.sin(angle));
    }
    context.closePath();
    context.fillStyle = colour;
    context.fill();
    context.lineWidth = 1;
    context.strokeStyle = "#000000";
    context.stroke();
  }

  ring([x, y]) {
    this.context.beginPath();
    this.context.arc(x, y, 7, 0, 7);
    this.context.lineWidth = 2.5;
    this.context.strokeStyle = "#000000";
    this.context.stroke();
  }
}
