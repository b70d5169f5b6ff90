// A curve through five points that follow the hand, rows about it, and two dials worked out here as it moves.
// Python hears of it once, on release.
const LEFT = 62, RIGHT = 14, TOP = 12, BOTTOM = 64, CELLS = 60;
const SVG = "http://www.w3.org/2000/svg";

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".stage");
  // Every rerun of the page comes by here. What it says of the curve is older than the hand, unless it is new.
  const said = JSON.stringify(data.heights);
  if (root.curve?.isKnown(said)) {
    root.curve.answer(data.answered);
    return;
  }
  // As wide as there is room: text keeps its size on a phone.
  const WIDTH = Math.max(320, root.clientWidth || 760), HEIGHT = Math.min(0.5 * window.innerHeight, 0.9 * WIDTH);
  const heights = [...data.heights];
  const known = new Set([said]);
  let answered = data.answered, later = 0;
  const [low, high] = data.range;
  const places = heights.map((_, k) => -10 + (20 * k) / (heights.length - 1));
  const across = (u) => LEFT + ((u + 10) / 20) * (WIDTH - LEFT - RIGHT);
  const margin = 3 * data.noise;
  const bottom = low - margin, top = high + margin;
  const up = (f) => TOP + ((top - f) / (top - bottom)) * (HEIGHT - TOP - BOTTOM);
  const back = (y) => top - ((y - TOP) / (HEIGHT - TOP - BOTTOM)) * (top - bottom);
  const price = (f) => 220 + 10 * f;
  const age = (u) => 40 + 2 * u;

  root.replaceChildren();
  const dials = document.createElement("div");
  dials.className = "dials";
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Price by age: a curve of five points" });
  for (const f of [-10, -5, 0, 5, 10]) {
    svg.append(make("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: up(f), y2: up(f), class: "grid" }));
    svg.append(label(`${price(f)} €`, LEFT - 8, up(f) + 5, "end"));
  }
  for (const u of places) svg.append(label(String(age(u)), across(u), HEIGHT - 36, "middle"));
  svg.append(label("Age (years)", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "middle"));
  const [us, noise] = data.dots;
  const dots = us.map((u) => make("circle", { cx: across(u), r: 3, fill: data.colours.rows, "fill-opacity": 0.5 }));
  const line = make("polyline", { fill: "none", stroke: data.colours.curve, "stroke-width": 4 });
  svg.append(...dots, line);
  const handles = places.map((u, k) => {
    const handle = make("circle", {
      cx: across(u), r: 12, fill: data.colours.curve, class: "handle", tabindex: 0, role: "slider",
      "aria-orientation": "vertical", "aria-label": `Price at the age of ${age(u)}`,
      "aria-valuemin": price(low), "aria-valuemax": price(high),
    });
    handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const box = svg.getBoundingClientRect();
      put(k, back(((event.clientY - box.top) / box.height) * HEIGHT));
    });
    handle.addEventListener("pointerup", tell);
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowUp: 0.5, ArrowRight: 0.5, ArrowDown: -0.5, ArrowLeft: -0.5, PageUp: 2, PageDown: -2 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      put(k, heights[k] + by);
    });
    handle.addEventListener("keyup", (event) => { if (/^(Arrow|Page)/.test(event.key)) tellSoon(); });
    return handle;
  });
  svg.append(...handles);
  const help = document.createElement("p");
  help.className = "help";
  help.textContent = "Drag the five points, or step through them with Tab and move them with the arrow keys.";
  root.append(dials, svg, help);
  draw();
  root.curve = {
    isKnown: (each) => known.has(each),
    answer: (whether) => { answered = whether; draw(); },
  };

  function put(k, f) {
    heights[k] = Math.round(Math.min(high, Math.max(low, f)) * 4) / 4;
    draw();
  }

  function tell() {
    clearTimeout(later);
    known.add(JSON.stringify(heights));
    setTriggerValue("heights", [...heights]);
  }

  // A key is pressed again before long: Python hears of the last one.
  function tellSoon() {
    clearTimeout(later);
    later = setTimeout(tell, 250);
  }

  function at(u) {
    const k = Math.min(heights.length - 2, Math.max(0, Math.floor(((u + 10) / 20) * (heights.length - 1))));
    const share = (u - places[k]) / (places[k + 1] - places[k]);
    return heights[k] + share * (heights[k + 1] - heights[k]);
  }

  function draw() {
    dots.forEach((dot, k) => dot.setAttribute("cy", up(at(us[k]) + data.noise * noise[k])));
    line.setAttribute("points", places.map((u, k) => `${across(u)},${up(heights[k])}`).join(" "));
    handles.forEach((handle, k) => {
      handle.setAttribute("cy", up(heights[k]));
      handle.setAttribute("aria-valuenow", price(heights[k]));
      handle.setAttribute("aria-valuetext", `${price(heights[k])} euros`);
    });
    const read = answered ? [pearson(), hgr()] : [null, null];
    dials.replaceChildren(...[["Pearson", data.colours.line], ["HGR", data.colours.rows]].flatMap(([name, colour], k) => {
      const value = read[k], bar = element("div", "bar"), track = element("div", "track");
      bar.style.cssText = `width: ${value === null ? 0 : Math.abs(value) * 100}%; background: ${colour}`;
      track.append(bar);
      return [element("span", "", name), track, element("span", "value", value === null ? "?" : words(value))];
    }));
  }

  function words(value) {
    const text = value.toFixed(2);
    return text === "-0.00" ? "0.00" : text.replace("-", "−");
  }

  function cells() {
    const found = [];
    for (let k = 0; k < 20 * CELLS; k++) found.push(-10 + (20 * (k + 0.5)) / (20 * CELLS));
    return found;
  }

  function pearson() {
    const u = cells(), f = u.map(at), mean = f.reduce((a, b) => a + b) / f.length;
    let both = 0, own = 0, other = 0;
    u.forEach((each, k) => { both += each * (f[k] - mean); own += each * each; other += (f[k] - mean) ** 2; });
    return both / Math.sqrt(own * (other + data.noise ** 2 * u.length));
  }

  // The second singular value of Q(w, v) = p(w, v) / √(p(w) p(v)) (Witsenhausen 1975), by powers of QᵀQ.
  function hgr() {
    const f = cells().map(at).sort((a, b) => a - b);
    if (f[f.length - 1] - f[0] < 1e-9) return 0;
    const w = Array.from({ length: CELLS }, (_, k) => f.slice(20 * k, 20 * k + 20).reduce((a, b) => a + b) / 20);
    const from = w[0] - 5 * data.noise, width = w[CELLS - 1] + 5 * data.noise - from;
    const given = w.map((each) => {
      const row = Array.from({ length: CELLS }, (_, k) => Math.exp(-0.5 * ((from + (width * k) / (CELLS - 1) - each) / data.noise) ** 2));
      const sum = row.reduce((a, b) => a + b);
      return row.map((one) => one / sum);
    });
    const p = given[0].map((_, k) => given.reduce((a, row) => a + row[k], 0) / CELLS);
    let g = p.map((_, k) => k - CELLS / 2 + 0.1 * Math.sin(7 * k)), size = 0;
    for (let turn = 0; turn < 60; turn++) {
      const mean = g.reduce((a, each, k) => a + p[k] * each, 0);
      g = g.map((each) => each - mean);
      const norm = Math.sqrt(g.reduce((a, each, k) => a + p[k] * each * each, 0));
      g = g.map((each) => each / norm);
      const f2 = given.map((row) => row.reduce((a, each, k) => a + each * g[k], 0));
      size = Math.sqrt(f2.reduce((a, each) => a + each * each, 0) / CELLS);
      g = p.map((each, k) => (each > 1e-12 ? given.reduce((a, row, j) => a + row[k] * f2[j], 0) / (CELLS * each) : 0));
    }
    return Math.min(1, size);
  }

  function make(name, attributes) {
    const each = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) each.setAttribute(key, value);
    return each;
  }
  function label(text, x, y, anchor) {
    const each = make("text", { x, y, "text-anchor": anchor });
    each.textContent = text;
    return each;
  }
  function element(name, className, text = "") {
    const each = document.createElement(name);
    each.className = className;
    each.textContent = text;
    return each;
  }
}
