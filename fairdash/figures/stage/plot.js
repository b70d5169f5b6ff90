// Draws as much of plotly's figures as fairdash's have, and moves single traces, notes and shapes at once.
// plotly.js itself needs longer than a frame for that, and can't be reached from a component.

const SVG = "http://www.w3.org/2000/svg";
// Between the axes; fairdash/figures/labels.py places labels for this height.
const HEIGHT = 285;
const TEXT = 14;
// So many dots of one look are one path: drawn and moved far sooner than as many.
const DOTS_APART = 150;
const ROOM = {top: 10, right: 16, bottom: 62};
const FONT = '"Source Sans", "Source Sans Pro", sans-serif';
const TYPES = {f8: Float64Array, f4: Float32Array, i1: Int8Array, u1: Uint8Array, i2: Int16Array,
    u2: Uint16Array, i4: Int32Array, u4: Uint32Array};
const DASHES = {dash: "9 6", dot: "2 4", dashdot: "9 4 2 4", longdash: "14 6", longdashdot: "14 5 2 5"};

function make(name, attributes, parent) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent?.append(made);
    return made;
}

// Plotly writes an array as a list, or as the bytes of its numbers.
function listed(given) {
    if (!given) return [];
    if (given.bdata === undefined) return given;
    const bytes = Uint8Array.from(atob(given.bdata), each => each.charCodeAt(0));
    const flat = Array.from(new TYPES[given.dtype](bytes.buffer));
    const width = given.shape ? Number(String(given.shape).split(",")[1]) : NaN;
    if (!width) return flat;
    return Array.from({length: flat.length / width}, (_, k) => flat.slice(k * width, (k + 1) * width));
}

// Plain lines of a text in plotly's marking: what users named is escaped in it, and set as text here.
function linesOf(text) {
    const entities = {"&nbsp;": "\u00a0", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&amp;": "&"};
    return String(text).split(/<br\s*\/?>/).map(line => line.replace(/<[^>]*>/g, "")
        .replace(/&(nbsp|lt|gt|quot|#x27|amp);/g, each => entities[each]));
}

function formatted(value, format) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (!format || typeof value !== "number") return String(value);
    const [, digits, trims, kind] = /^\.?(\d*)(~?)([fg%])$/.exec(format) ?? [];
    if (kind === "f") return value.toFixed(digits);
    if (kind === "%") return `${(100 * value).toFixed(digits)} %`;
    const text = value.toPrecision(digits || 6);
    return trims || !digits ? String(Number(text)) : text;
}

// What a hover template says of a trace's k-th point.
function said(trace, k) {
    const at = {x: listed(trace.x)[k], y: listed(trace.y)[k], text: trace.text?.[k]};
    return linesOf(trace.hovertemplate.replace("<extra></extra>", "").replace(
        /%\{(\w+)(?:\[(\d+)\])?(?::([^}]*))?\}/g,
        (_, name, place, format) => formatted(
            name === "customdata" ? trace.data[k][place] : at[name], format)));
}

function ticksBetween(low, high, wanted) {
    const raw = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= raw * 0.999);
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
        const text = Math.abs(k * step).toFixed(decimals).replace(/\B(?=(\d{3})+(?!\d)(?!.*\.))/g, ",");
        found.push([k * step, (k < 0 ? "−" : "") + text]);
    }
    return found;
}

function polygon(corners, radius, turned, inner = 1) {
    const points = Array.from({length: corners}, (_, k) => {
        const angle = turned + 2 * Math.PI * k / corners, r = k % 2 ? radius * inner : radius;
        return `${(r * Math.sin(angle)).toFixed(2)},${(-r * Math.cos(angle)).toFixed(2)}`;
    });
    return `M${points.join("L")}Z`;
}

// The outline of a marker around (0, 0), with plotly's names.
function outline(symbol, size) {
    const r = size / 2, arm = r * 0.4;
    switch (symbol.replace("-open", "")) {
        case "square": return polygon(4, r * 1.41, Math.PI / 4);
        case "diamond": return polygon(4, r * 1.3, 0);
        case "triangle-up": return polygon(3, r * 1.25, 0);
        case "triangle-down": return polygon(3, r * 1.25, Math.PI);
        case "hexagon": return polygon(6, r * 1.1, 0);
        case "star": return polygon(10, r * 1.4, 0, 0.4);
        case "cross": return `M${-arm},${-r}H${arm}V${-arm}H${r}V${arm}H${arm}V${r}H${-arm}V${arm}H${-r}V${-arm}H${-arm}Z`;
        case "x": return `M${-r},${-r}L${r},${r}M${-r},${r}L${r},${-r}`;
        default: return `M${r},0A${r},${r} 0 1 1 ${-r},0A${r},${r} 0 1 1 ${r},0Z`;
    }
}

function atOf(given, k) {
    return Array.isArray(given) ? given[k] : given;
}

class Figure {
    constructor({spec, alt, name, form, height = HEIGHT, share, text = TEXT}, place) {
        this.layout = spec.layout;
        [this.height, this.least, this.share, this.text] = [height, height, share, Math.max(text, spec.layout.font.size)];
        this.scales = [spec.layout.xaxis, spec.layout.yaxis].map(each => ({...each}));
        this.ticks = listed(spec.layout.yaxis.tickvals)
            .map((value, k) => ({value, text: spec.layout.yaxis.ticktext[k]}));
        this.traces = spec.data.map(trace => ({...trace, x: listed(trace.x), y: listed(trace.y),
            data: listed(trace.customdata)}));
        this.notes = (spec.layout.annotations ?? []).map(each => ({...each}));
        // Where notes find room depends on their size; a hall has more of it. All grow alike, and their
        // distances with them: what was apart stays apart.
        const least = Math.min(...this.notes.map(each => each.font.size));
        this.grown = this.text > TEXT ? Math.max(1, this.text / least) : 1;
        this.shapes = (spec.layout.shapes ?? []).map(each => ({...each}));
        this.name = name;
        this.form = form;
        this.element = document.createElement("figure");
        const head = document.createElement("figcaption");
        const title = spec.layout.title;
        for (const [style, text] of [["gtitle", title.text], ["gtitle-subtitle", title.subtitle?.text ?? ""]]) {
            const line = document.createElement("div");
            line.className = style;
            line.textContent = linesOf(text).join(" ");
            head.append(line);
        }
        const save = document.createElement("button");
        save.type = "button";
        save.className = "save";
        save.textContent = "⤓";
        save.title = "Save the picture";
        save.setAttribute("aria-label", `Save the picture “${head.firstChild.textContent}”`);
        save.onclick = () => this.save();
        head.append(save);
        this.svg = make("svg", {class: "main-svg", role: "img", "aria-label": alt, "font-family": FONT});
        this.tip = document.createElement("div");
        this.tip.className = "tip";
        this.tip.hidden = true;
        this.element.append(head, this.svg, this.tip);
        this.svg.addEventListener("pointermove", event => this.hover(event));
        this.svg.addEventListener("pointerleave", () => { this.tip.hidden = true; });
        place.append(this.element);
    }

    get title() { return linesOf(this.layout.title.text).join(" "); }

    draw() {
        const whole = this.element.clientWidth;
        if (!whole) return;
        const {layout} = this, quiet = layout.modebar.color, text = layout.font.color;
        const [[first, last], [low, high]] = this.scales.map(each => each.range);
        const size = this.text, named = this.ticks.length > 0;
        const bottom = ROOM.bottom + 3 * (size - TEXT);
        // A share of the window, but no taller than a narrow place bears.
        const most = whole * (window.innerWidth < 640 ? 0.9 : 1.7);
        if (this.share) {
            this.height = Math.min(this.share * window.innerHeight, most) - ROOM.top - bottom;
            // Rows with names need their room.
            if (named) this.height = Math.max(this.height, this.least);
        }
        const up = named ? this.ticks.map(each => [each.value, linesOf(each.text)[0]])
            : ticksBetween(low, high, Math.min(10, this.height / 40));
        const left = 17 + size + size * 0.54 * Math.max(...up.map(([, each]) => each.length));
        this.width = whole - left - ROOM.right;
        // Nothing stands where there is no value: JavaScript counts null as 0.
        this.x = value => value === null ? NaN : this.width * (value - first) / (last - first);
        this.y = value => value === null ? NaN : this.height * (high - value) / (high - low);
        const full = this.height + ROOM.top + bottom;
        this.svg.replaceChildren();
        for (const [key, value] of Object.entries({width: whole, height: full, viewBox: `0 0 ${whole} ${full}`}))
            this.svg.setAttribute(key, value);
        const inner = make("g", {transform: `translate(${left},${ROOM.top})`}, this.svg);
        this.left = left;
        const across = layout.xaxis.tickvals
            ? listed(layout.xaxis.tickvals).map((each, k) => [each, layout.xaxis.ticktext[k]])
            : ticksBetween(first, last, Math.max(2, Math.min(7, this.width / 70)));
        this.parts = {shape: [], trace: [], note: [], tick: [], scale: []};
        up.forEach(([value, name], k) => {
            if (layout.yaxis.showgrid !== false)
                make("path", {d: `M0,${this.y(value)}H${this.width}`, stroke: layout.yaxis.gridcolor}, inner);
            this.parts.tick[k] = this.write(inner, name, -7, this.y(value) + 0.34 * size,
                {size, colour: text, anchor: "end"});
        });
        for (const [value, name] of across) {
            make("path", {d: `M${this.x(value)},0V${this.height}`, stroke: layout.xaxis.gridcolor}, inner);
            linesOf(name).forEach((line, k) => this.write(inner, line, this.x(value),
                this.height + 4 + size + 1.15 * size * k, {size, colour: text, anchor: "middle"}));
        }
        const lines = Math.max(...across.map(([, name]) => linesOf(name).length));
        this.title_of_axis(inner, layout.xaxis.title.text, "xtitle", this.width,
            `translate(${this.width / 2},${this.height + 9 + size + 1.15 * size * lines})`);
        this.title_of_axis(inner, layout.yaxis.title.text, "ytitle", this.height + 20,
            `translate(${size - left},${this.height / 2})rotate(-90)`);
        // Error bars and lines end at the axes. A mark that stands within them is whole.
        const clip = make("clipPath", {id: `in-${this.name}`}, inner);
        make("rect", {x: 0, y: -ROOM.top, width: this.width, height: this.height + ROOM.top}, clip);
        this.shapes.forEach((_, k) => { this.parts.shape[k] = make("path", {}, inner); this.place("shape", k); });
        this.traces.forEach((trace, k) => this.begin(trace, k, inner));
        this.notes.forEach((_, k) => { this.parts.note[k] = make("g", {}, inner); this.place("note", k); });
    }

    title_of_axis(inner, text, style, room, transform) {
        const [line] = linesOf(text), size = Math.max(9, Math.min(this.text, room / (0.5 * (line.length || 1))));
        this.write(make("g", {transform}, inner), line, 0, 0,
            {size, colour: this.layout.font.color, anchor: "middle"}).setAttribute("class", style);
    }

    write(parent, text, x, y, {size, colour, anchor = "start", bold = false, veil = ""}) {
        const written = make("text", {x, y, "font-size": size, fill: colour, "text-anchor": anchor}, parent);
        if (bold) written.setAttribute("font-weight", 700);
        if (veil) for (const [key, value] of Object.entries({stroke: veil, "stroke-width": 4,
            "paint-order": "stroke", "stroke-linejoin": "round"})) written.setAttribute(key, value);
        written.textContent = text;
        return written;
    }

    begin(trace, k, inner) {
        const group = make("g", {}, inner);
        const mode = trace.mode ?? (trace.type === "bar" ? "" : "lines");
        const marker = trace.marker ?? {};
        const part = {group, marks: [], line: null, bars: []};
        if (mode.includes("lines")) {
            part.line = make("path", trace.fill
                ? {fill: trace.fillcolor, stroke: "none"}
                : {fill: "none", stroke: trace.line.color, "stroke-width": trace.line.width ?? 2,
                    "stroke-linejoin": "round", "stroke-dasharray": DASHES[trace.line.dash] ?? "none"}, group);
            part.line.setAttribute("clip-path", `url(#in-${this.name})`);
        }
        if (trace.type === "bar")
            part.boxes = trace.x.map((_, j) => make("rect", {fill: atOf(marker.color, j)}, group));
        else if (trace.x.length > DOTS_APART && mode === "markers" && !Array.isArray(marker.size ?? []))
            part.dots = make("path", {fill: "none", stroke: marker.color, "stroke-width": marker.size,
                "stroke-linecap": "round", opacity: marker.opacity ?? 1}, group);
        else if (mode.includes("markers")) {
            const symbol = marker.symbol ?? "circle", open = symbol.endsWith("-open") || symbol === "x";
            for (const axis of ["x", "y"]) if (trace[`error_${axis}`])
                part.bars.push([axis, listed(trace[`error_${axis}`].array), make("path",
                    {stroke: trace[`error_${axis}`].color, "clip-path": `url(#in-${this.name})`}, group)]);
            part.marks = trace.x.map((_, j) => make("path", {
                d: outline(symbol, atOf(marker.size, j)), fill: open ? "none" : atOf(marker.color, j),
                stroke: open ? atOf(marker.color, j) : marker.line?.color ?? "none",
                "stroke-width": open ? 2 : marker.line?.width ?? 0}, group));
        }
        this.parts.trace[k] = part;
        this.place("trace", k);
    }

    // Puts a trace, note or shape where its own values say that it is.
    place(kind, k) {
        const part = this.parts[kind][k];
        if (kind === "trace") this.place_trace(this.traces[k], part);
        else if (kind === "note") this.place_note(this.notes[k], part);
        else if (kind === "tick") part.textContent = linesOf(this.ticks[k].text)[0];
        else this.place_shape(this.shapes[k], part);
    }

    // Whether a point lies within the axes; a point without a value does not.
    holds([a, b]) {
        const edge = 0.5;
        return a >= -edge && a <= this.width + edge && b >= -edge && b <= this.height + edge;
    }

    place_trace(trace, {group, marks, line, bars, boxes = [], dots}) {
        const {x, y} = trace, at = x.map((each, j) => [this.x(each), this.y(y[j])]);
        group.setAttribute("opacity", trace.opacity ?? 1);
        if (line) {
            let d = "", begun = false;
            for (const [a, b] of at) {
                if (Number.isFinite(a) && Number.isFinite(b)) {
                    d += `${begun ? "L" : "M"}${a.toFixed(1)},${b.toFixed(1)}`;
                    begun = true;
                } else if (!trace.fill) begun = false;
            }
            line.setAttribute("d", trace.fill && d ? `${d}Z` : d);
        }
        if (dots) dots.setAttribute("d", at.filter(each => this.holds(each))
            .map(([a, b]) => `M${a.toFixed(1)},${b.toFixed(1)}h0`).join(""));
        boxes.forEach((box, j) => {
            const begin = this.x(0), end = Math.max(0, at[j][0]), tall = trace.width / 2;
            const [top, foot] = [this.y(y[j] - tall), this.y(y[j] + tall)];
            const is_there = Number.isFinite(at[j][0]);
            for (const [key, value] of Object.entries({visibility: is_there ? "visible" : "hidden",
                x: is_there ? Math.min(begin, end) : 0, width: is_there ? Math.abs(end - begin) : 0,
                y: Math.min(top, foot), height: Math.abs(foot - top)})) box.setAttribute(key, value);
            if (trace.colours) box.setAttribute("fill", trace.colours[j]);
        });
        marks.forEach((mark, j) => {
            const there = this.holds(at[j]);
            mark.setAttribute("visibility", there ? "visible" : "hidden");
            if (there) mark.setAttribute("transform", `translate(${at[j][0].toFixed(1)},${at[j][1].toFixed(1)})`);
            if (trace.fills) mark.setAttribute("fill", trace.fills);
            if (trace.rim) mark.setAttribute("stroke", trace.rim);
        });
        for (const [axis, sizes, bar] of bars) bar.setAttribute("d", sizes.map((size, j) =>
            size === null || !Number.isFinite(at[j][0] + at[j][1]) ? "" : axis === "x"
            ? `M${this.x(x[j] - size)},${at[j][1]}H${this.x(x[j] + size)}`
            : `M${at[j][0]},${this.y(y[j] - size)}V${this.y(y[j] + size)}`).join(""));
    }

    place_note(note, group) {
        const x = note.xref === "paper" ? this.width * note.x : this.x(note.x);
        const y = note.yref === "paper" ? this.height * (1 - note.y) : this.y(note.y);
        const dx = this.grown * (note.showarrow ? note.ax : note.xshift ?? 0);
        const dy = this.grown * (note.showarrow ? note.ay : -(note.yshift ?? 0));
        const {color} = note.font, size = this.grown * note.font.size;
        const written = linesOf(note.text), step = 1.3 * size;
        const upper = {top: 0, middle: -step * written.length / 2, bottom: -step * written.length};
        const begins = upper[note.yanchor ?? "middle"] + size;
        const anchor = {left: "start", right: "end"}[note.xanchor] ?? "middle";
        if (group.said !== note.text) {
            group.said = note.text;
            group.replaceChildren();
            if (note.showarrow && note.arrowcolor !== "rgba(0,0,0,0)") {
                const long = Math.hypot(dx, dy), from = (note.standoff ?? 0) / long;
                make("path", {d: `M${dx * from},${dy * from}L${dx},${dy}`, stroke: note.arrowcolor}, group);
            }
            const lines = make("g", {class: "annotation-text", transform: `translate(${dx},${dy})`}, group);
            const [, tint, glyph] = /<span style="color:([^"]+)">([^<]+)<\/span>/.exec(note.text) ?? [];
            written.forEach((line, k) => {
                const made = this.write(lines, line, 0, begins + step * k,
                    {size, colour: color, anchor, bold: note.text.startsWith("<b>"), veil: note.bgcolor});
                if (!tint || !line.includes(glyph)) return;
                // A sign of a line's colour stands for it.
                const [before, after] = line.split(glyph);
                made.replaceChildren(before, make("tspan", {fill: tint}), after);
                made.children[0].textContent = glyph;
            });
        }
        group.setAttribute("transform", `translate(${x.toFixed(1)},${y.toFixed(1)})`);
    }

    place_shape(shape, path) {
        const x = value => shape.xref === "paper" ? this.width * value : this.x(value);
        const y = value => shape.yref === "paper" ? this.height * (1 - value) : this.y(value);
        const [a, b] = [x(shape.x0), x(shape.x1)], [c, d] = [y(shape.y0), y(shape.y1)];
        const is_box = shape.type === "rect";
        path.setAttribute("d", is_box ? `M${a},${c}H${b}V${d}H${a}Z` : `M${a},${c}L${b},${d}`);
        path.setAttribute("fill", is_box ? shape.fillcolor : "none");
        path.setAttribute("stroke", is_box ? "none" : shape.line.color);
        path.setAttribute("stroke-dasharray", DASHES[shape.line.dash] ?? "none");
    }

    hover(event) {
        const frame = this.svg.getBoundingClientRect();
        const [px, py] = [event.clientX - frame.left - this.left, event.clientY - frame.top - ROOM.top];
        let best = 22, found = null;
        for (const trace of this.traces) {
            if (!trace.hovertemplate || !(trace.type === "bar" || (trace.mode ?? "").includes("markers"))) continue;
            trace.x.forEach((each, k) => {
                const far = Math.hypot(this.x(each) - px, this.y(trace.y[k]) - py);
                if (far < best) [best, found] = [far, [trace, k]];
            });
        }
        this.tip.hidden = !found;
        if (!found) return;
        this.tip.replaceChildren(...said(...found).map(line => {
            const row = document.createElement("div");
            row.textContent = line;
            return row;
        }));
        const [x, y] = [this.left + this.x(found[0].x[found[1]]), this.y(found[0].y[found[1]])];
        const left = x + 14 + this.tip.offsetWidth > frame.width ? x - 14 - this.tip.offsetWidth : x + 14;
        this.tip.style.left = `${Math.max(0, left)}px`;
        this.tip.style.top = `${this.svg.offsetTop + Math.max(0, y - 10)}px`;
    }

    save() {
        const copy = this.svg.cloneNode(true), {width, height} = this.svg.viewBox.baseVal;
        const head = [...this.element.querySelectorAll(".gtitle, .gtitle-subtitle")];
        copy.setAttribute("viewBox", `0 -52 ${width} ${height + 52}`);
        copy.setAttribute("height", height + 52);
        head.forEach((line, k) => this.write(copy, line.textContent, 8, -30 + 20 * k,
            {size: k ? 13 : 16, colour: this.layout.font.color, bold: !k}));
        const picture = new Blob([new XMLSerializer().serializeToString(copy)], {type: "image/svg+xml"});
        const hand_over = (blob, form) => {
            const link = document.createElement("a");
            link.href = URL.createObjectURL(blob);
            link.download = `${this.name}.${form}`;
            link.click();
            setTimeout(() => URL.revokeObjectURL(link.href), 1000);
        };
        if (this.form === "svg") return hand_over(picture, "svg");
        const image = new Image(), canvas = document.createElement("canvas");
        image.onload = () => {
            [canvas.width, canvas.height] = [2 * width, 2 * (height + 52)];
            canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
            URL.revokeObjectURL(image.src);
            canvas.toBlob(blob => hand_over(blob, "png"));
        };
        image.src = URL.createObjectURL(picture);
    }
}
