// A curve through five points that follow the hand, rows about it, and two dials worked out here as it moves.
// Python hears of it once, on release.
const LEFT = 62, RIGHT = 14, TOP = 12, BOTTOM = 64, CELLS = 60;
const HELP = "Drag the five points, or step through them with Tab and move them with the arrow keys.";
const STEPS = { ArrowUp: 0.5, ArrowRight: 0.5, ArrowDown: -0.5, ArrowLeft: -0.5, PageUp: 2, PageDown: -2 };
// Twenty places in each cell.
const PLACES = d3.range(20 * CELLS).map((k) => -10 + (20 * (k + 0.5)) / (20 * CELLS));
const age = (u) => 40 + 2 * u;

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".stage");
  // Every rerun of the page comes by here. What it says of the curve is older than the hand, unless it is new.
  const said = JSON.stringify(data.heights);
  if (root.curve?.isKnown(said)) {
    root.curve.answer(data.answered);
    return;
  }
  // As wide as there is room: text keeps its size on a phone.
  const width = Math.max(320, root.clientWidth || 760), height = Math.min(0.5 * window.innerHeight, 0.9 * width);
  const price = (f) => data.euros[0] + data.euros[1] * f;
  const heights = [...data.heights], known = new Set([said]), [low, high] = data.range, [us, noise] = data.dots;
  let answered = data.answered, later = 0;
  const places = heights.map((_, k) => -10 + (20 * k) / (heights.length - 1));
  const across = d3.scaleLinear([-10, 10], [LEFT, width - RIGHT]);
  const up = d3.scaleLinear([low - 3 * data.noise, high + 3 * data.noise], [height - BOTTOM, TOP]);

  const stage = d3.select(root).html(""), box = stage.append("div").attr("class", "dials");
  const measures = [["Pearson", pearson, data.colours.line], ["HGR", hgr, data.colours.rows]];
  const dials = measures.map(([name, measure, colour]) => {
    box.append("span").text(name);
    const bar = box.append("div").attr("class", "track").append("div").attr("class", "bar").style("background", colour);
    return [measure, bar, box.append("span").attr("class", "value")];
  });
  const svg = stage.append("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "group")
    .attr("aria-label", "Price by age: a curve of five points");
  stage.append("p").attr("class", "help").text(HELP);
  const levels = svg.selectAll("g").data([-10, -5, 0, 5, 10]).join("g").attr("transform", (f) => `translate(0,${up(f)})`);
  levels.append("line").attr("class", "grid").attr("x1", LEFT).attr("x2", width - RIGHT);
  levels.append("text").attr("x", LEFT - 8).attr("y", 5).attr("text-anchor", "end").text((f) => `${price(f)} €`);
  svg.selectAll(".age").data([...places.map((u) => [across(u), height - 36, age(u)]),
    [(LEFT + width - RIGHT) / 2, height - 10, "Age (years)"]]).join("text").attr("class", "age")
    .attr("x", ([x]) => x).attr("y", ([, y]) => y).attr("text-anchor", "middle").text(([, , text]) => text);
  const dots = svg.selectAll(".dot").data(us).join("circle").attr("cx", across).attr("r", 3)
    .attr("fill", data.colours.rows).attr("fill-opacity", 0.5);
  const line = svg.append("path").attr("fill", "none").attr("stroke", data.colours.curve).attr("stroke-width", 4);
  const handles = svg.selectAll(".handle").data(d3.range(places.length)).join("circle").attr("class", "handle")
    .attr("cx", (k) => across(places[k])).attr("r", 12).attr("fill", data.colours.curve).attr("tabindex", 0)
    .attr("role", "slider").attr("aria-orientation", "vertical")
    .attr("aria-label", (k) => `Price at the age of ${age(places[k])}`)
    .attr("aria-valuemin", price(low)).attr("aria-valuemax", price(high))
    .on("pointerdown", (event) => event.currentTarget.setPointerCapture(event.pointerId))
    .on("pointermove", (event, k) => {
      if (event.currentTarget.hasPointerCapture(event.pointerId)) put(k, up.invert(d3.pointer(event, svg.node())[1]));
    })
    .on("pointerup", tell)
    .on("keydown", (event, k) => {
      if (!(event.key in STEPS)) return;
      event.preventDefault();
      put(k, heights[k] + STEPS[event.key]);
    })
    .on("keyup", (event) => {
      if (!(event.key in STEPS)) return;
      // A key is pressed again before long: Python hears of the last one.
      clearTimeout(later);
      later = setTimeout(tell, 250);
    });
  // The people of the lesson stand above the handles of their ages.
  const names = svg.selectAll(".name").data(data.people).join("text").attr("class", "name")
    .attr("x", ([, years]) => across((years - 40) / 2)).attr("text-anchor", "middle");
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

  function draw() {
    const curve = d3.scaleLinear(places, heights);
    dots.attr("cy", (u, k) => up(curve(u) + data.noise * noise[k]));
    line.attr("d", d3.line(across, (_, k) => up(heights[k]))(places));
    handles.attr("cy", (k) => up(heights[k])).attr("aria-valuenow", (k) => price(heights[k]))
      .attr("aria-valuetext", (k) => `${price(heights[k])} euros`);
    names.attr("y", ([, years]) => up(curve((years - 40) / 2)) - 24)
      .text(([name, years]) => `${name} pays ${Math.round(price(curve((years - 40) / 2)))} €`);
    const f = PLACES.map((u) => curve(u));
    dials.forEach(([measure, bar, value]) => {
      const read = answered ? measure(f, data.noise) : null;
      bar.style("width", `${100 * Math.abs(read ?? 0)}%`);
      value.text(read === null ? "?" : d3.format(".2f")(read));
    });
  }
}

function pearson(f, noise) {
  const mean = d3.mean(f), both = d3.sum(PLACES, (u, k) => u * (f[k] - mean));
  const own = d3.sum(PLACES, (u) => u * u), other = d3.sum(f, (each) => (each - mean) ** 2);
  return both / Math.sqrt(own * (other + noise ** 2 * f.length));
}

// The second singular value of Q(w, v) = p(w, v) / √(p(w) p(v)) (Witsenhausen 1975), by powers of QᵀQ.
function hgr(f, noise) {
  const sorted = d3.sort(f), cells = d3.range(CELLS);
  if (sorted.at(-1) - sorted[0] < 1e-9) return 0;
  const w = cells.map((k) => d3.mean(sorted.slice(20 * k, 20 * k + 20)));
  const from = w[0] - 5 * noise, step = (w.at(-1) + 5 * noise - from) / (CELLS - 1);
  const given = w.map((each) => {
    const row = cells.map((k) => Math.exp(-0.5 * ((from + step * k - each) / noise) ** 2)), sum = d3.sum(row);
    return row.map((one) => one / sum);
  });
  const p = cells.map((k) => d3.mean(given, (row) => row[k]));
  let g = cells.map((k) => k - CELLS / 2 + 0.1 * Math.sin(7 * k)), size = 0;
  for (let turn = 0; turn < 60; turn++) {
    const mean = d3.sum(g, (each, k) => p[k] * each);
    const norm = Math.sqrt(d3.sum(g, (each, k) => p[k] * (each - mean) ** 2));
    g = g.map((each) => (each - mean) / norm);
    const read = given.map((row) => d3.sum(row, (each, k) => each * g[k]));
    size = Math.sqrt(d3.mean(read, (each) => each * each));
    g = p.map((each, k) => (each > 1e-12 ? d3.sum(given, (row, j) => row[k] * read[j]) / (CELLS * each) : 0));
  }
  return Math.min(1, size);
}
