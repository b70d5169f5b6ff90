// Draws as much of plotly's figures as fairdash's have, with D3, and moves single traces, notes and shapes at once.
// plotly.js itself needs longer than a frame for that, and can't be reached from a component.

// Between the axes; fairdash/figures/labels.py places labels for this height.
const HEIGHT = 285;
const TEXT = 14;
// So many dots of one look are one path: drawn and moved far sooner than as many.
const DOTS_APART = 150;
const ROOM = {top: 10, right: 16, bottom: 62};
const FONT = '"Source Sans", "Source Sans Pro", sans-serif';
const DASHES = {dash: "9 6", dot: "2 4", dashdot: "9 4 2 4", longdash: "14 6", longdashdot: "14 5 2 5"};
d3.formatDefaultLocale({decimal: ".", thousands: ",", grouping: [3], currency: ["", ""], percent: "\u00a0%"});

// By plotly's names, with what they take of the square of their size.
const SYMBOLS = {circle: [d3.symbolCircle, 0.785], square: [d3.symbolSquare, 1], diamond: [d3.symbolDiamond2, 1.08],
    "triangle-up": [d3.symbolTriangle, 0.51], star: [d3.symbolStar, 0.55], cross: [d3.symbolCross, 0.56],
    x: [d3.symbolTimes, 0.65]};

function set(selection, attributes) {
    return Object.entries(attributes).reduce((each, [name, value]) => each.attr(name, value), selection);
}

// Plain lines of a text in plotly's marking: what users named is escaped in it, and set as text here.
function linesOf(text) {
    const entities = {"&nbsp;": "\u00a0", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&amp;": "&"};
    return String(text).split(/<br\s*\/?>/).map(line => line.replace(/<[^>]*>/g, "")
        .replace(/&(nbsp|lt|gt|quot|#x27|amp);/g, each => entities[each]));
}

// As plotly's templates ask for; what is counted or paid is never told as a power of ten.
function formatted(value, format) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (!format || typeof value !== "number") return String(value);
    return d3.format(format.replace(/^~?g$/, "~r").replace("g", "r"))(value);
}

// At most so many ticks and one, each with its words.
function ticksOf(scale, {tickvals, ticktext, tickformat, type}, most) {
    if (tickvals)
        return tickvals.map((each, k) => [each, ticktext?.[k] ?? formatted(each, tickformat)]);
    const count = d3.range(most, 0, -1).find(each => scale.ticks(each).length <= most + 1) ?? most;
    const words = scale.tickFormat(count, tickformat ?? (type === "log" ? ",r" : undefined));
    return scale.ticks(count).map(each => [each, words(each)]);
}

class Figure {
    constructor({spec, alt, name, form, height = HEIGHT, share, text = TEXT}, place) {
        const {layout} = spec, {title} = layout, copied = each => ({...each});
        Object.assign(this, {layout, name, form, height, share, least: height, text: Math.max(text, layout.font.size)});
        this.scales = [layout.xaxis, layout.yaxis].map(copied);
        this.ticks = (layout.yaxis.tickvals ?? []).map((value, k) => ({value, text: layout.yaxis.ticktext[k]}));
        this.traces = spec.data.map(copied);
        this.notes = (layout.annotations ?? []).map(copied);
        this.shapes = (layout.shapes ?? []).map(copied);
        // Where notes find room depends on their size; a hall has more of it. All grow alike, and their
        // distances with them: what was apart stays apart.
        const least = d3.min(this.notes, each => each.font.size);
        this.grown = this.text > TEXT ? Math.max(1, this.text / (least ?? this.text)) : 1;
        const figure = d3.select(place).append("figure"), head = figure.append("figcaption");
        head.append("div").attr("class", "gtitle").text(this.title);
        head.append("div").attr("class", "gtitle-subtitle").text(linesOf(title.subtitle?.text ?? "").join(" "));
        set(head.append("button"), {type: "button", class: "save", title: "Save the picture",
            "aria-label": `Save the picture “${this.title}”`}).text("⤓").on("click", () => this.save());
        this.element = figure.node();
        this.svg = set(figure.append("svg"), {class: "main-svg", role: "img", "aria-label": alt, "font-family": FONT})
            .on("pointermove", event => this.hover(event)).on("pointerleave blur", () => this.tell())
            .on("keydown", event => this.key(event));
        if (this.traces.some(each => each.hovertemplate)) this.svg.attr("tabindex", 0);
        this.tip = set(figure.append("div"), {class: "tip", role: "status"}).property("hidden", true);
        this.build();
    }

    get title() { return linesOf(this.layout.title.text).join(" "); }

    // All that is drawn, as yet without a place.
    build() {
        const inner = this.inner = this.svg.append("g"), {xaxis, yaxis, font} = this.layout;
        this.axes = [xaxis, yaxis].map(() => inner.append("g"));
        this.titles = [[xaxis, "xtitle"], [yaxis, "ytitle"]].map(([axis, style]) => set(inner.append("text"),
            {class: style, fill: font.color, "text-anchor": "middle"}).text(linesOf(axis.title.text)[0]));
        // Bars, lines and shapes end at the axes. A mark that stands within them is whole.
        this.frame = set(inner.append("clipPath").attr("id", `in-${this.name}`).append("rect"), {x: 0, y: -ROOM.top});
        this.clip = `url(#in-${this.name})`;
        this.parts = {shape: this.shapes.map(() => inner.append("path").attr("clip-path", this.clip)),
            trace: this.traces.map(each => this.begin(each)), note: this.notes.map(() => inner.append("g"))};
    }

    begin(trace) {
        const group = this.inner.append("g"), part = {group}, {marker = {}} = trace;
        const mode = trace.mode ?? (trace.type === "bar" ? "" : "lines");
        const own = (look, k) => Array.isArray(look) ? look[k] : look, colour = (_, k) => own(marker.color, k);
        const clipped = look => set(group.append("path").attr("clip-path", this.clip), look);
        if (mode.includes("lines"))
            part.line = clipped(trace.fill ? {fill: trace.fillcolor} : {fill: "none", stroke: trace.line.color,
                "stroke-width": trace.line.width ?? 2, "stroke-linejoin": "round",
                "stroke-dasharray": DASHES[trace.line.dash] ?? null});
        if (trace.type === "bar")
            part.boxes = group.attr("clip-path", this.clip).selectAll("rect").data(trace.x).join("rect").attr("fill", colour);
        else if (trace.x.length > DOTS_APART && mode === "markers" && !Array.isArray(marker.size))
            part.dots = set(group.append("path"), {fill: "none", stroke: marker.color, "stroke-width": marker.size,
                "stroke-linecap": "round", opacity: marker.opacity ?? 1});
        else if (mode.includes("markers")) {
            const symbol = marker.symbol ?? "circle", open = symbol.endsWith("-open") || symbol === "x";
            const [type, area] = SYMBOLS[symbol.replace("-open", "")] ?? SYMBOLS.circle;
            part.bars = ["x", "y"].filter(each => trace[`error_${each}`]).map(each => {
                const {array, arrayminus = array, color} = trace[`error_${each}`];
                return [each, arrayminus, array, clipped({stroke: color})];
            });
            part.marks = set(group.selectAll(".mark").data(trace.x).join("path"), {
                d: (_, k) => d3.symbol(type, area * own(marker.size, k) ** 2)(), fill: open ? "none" : colour,
                stroke: open ? colour : marker.line?.color ?? "none", "stroke-width": open ? 2 : marker.line?.width ?? 0});
        }
        return part;
    }

    draw() {
        const whole = this.element.clientWidth;
        if (!whole) return;
        const size = this.text, bottom = ROOM.bottom + 3 * (size - TEXT), [across, up] = this.scales;
        // A share of the window, but no taller than a narrow place bears; rows with names need their room.
        if (this.share) {
            const most = whole * (window.innerWidth < 640 ? 0.9 : 1.7);
            this.height = Math.max(Math.min(this.share * window.innerHeight, most) - ROOM.top - bottom,
                this.ticks.length ? this.least : 0);
        }
        const vertical = this.scale(up, [this.height, 0]);
        const rows = this.ticks.length ? this.ticks.map(each => [each.value, linesOf(each.text)[0]])
            : ticksOf(vertical, up, Math.min(10, this.height / 40));
        const left = 17 + size + size * 0.54 * d3.max(rows, ([, name]) => name.length);
        this.width = whole - left - ROOM.right;
        const horizontal = this.scale(across, [0, this.width]);
        const columns = ticksOf(horizontal, across, Math.max(2, Math.min(7, this.width / 70)));
        const lines = d3.max(columns, ([, name]) => linesOf(name).length);
        [this.x, this.y] = [horizontal, vertical];
        const full = this.height + ROOM.top + bottom;
        set(this.svg, {width: whole, height: full, viewBox: `0 0 ${whole} ${full}`});
        this.left = left;
        this.inner.attr("transform", `translate(${left},${ROOM.top})`);
        set(this.frame, {width: this.width, height: this.height + ROOM.top});
        this.axes[0].attr("transform", `translate(0,${this.height})`);
        const [below, beside] = [d3.axisBottom(horizontal).tickSize(-this.height), d3.axisLeft(vertical).tickSize(-this.width)];
        this.axis(this.axes[0], below.tickPadding(4 + 0.29 * size), across, columns);
        this.axis(this.axes[1], beside.tickPadding(7), up, rows);
        this.parts.tick = this.axes[1].selectAll("text").nodes();
        for (const [k, room, place] of [
            [0, this.width, `translate(${this.width / 2},${this.height + 9 + size + 1.15 * size * lines})`],
            [1, this.height + 20, `translate(${size - left},${this.height / 2})rotate(-90)`]]) {
            const long = this.titles[k].text().length || 1;
            set(this.titles[k], {transform: place, "font-size": Math.max(9, Math.min(size, room / (0.5 * long)))});
        }
        for (const kind of ["shape", "trace", "note"]) this.parts[kind].forEach((_, k) => this.place(kind, k));
    }

    scale({type, range}, pixels) {
        const is_log = type === "log";
        return (is_log ? d3.scaleLog : d3.scaleLinear)(range.map(each => is_log ? 10 ** each : each), pixels).unknown(NaN);
    }

    axis(group, axis, {gridcolor, showgrid = true}, ticks) {
        group.call(axis.offset(0).tickValues(ticks.map(([value]) => value)).tickFormat((_, k) => ticks[k][1]));
        set(group, {"font-size": this.text, "font-family": null, color: gridcolor});
        group.selectAll("line").attr("opacity", showgrid ? 1 : 0);
        group.select(".domain").remove();
        set(group.selectAll("text").text(""), {fill: this.layout.font.color}).selectAll("tspan")
            .data((_, k) => linesOf(ticks[k][1])).join("tspan").text(line => line)
            .filter((_, k) => k).attr("x", 0).attr("dy", "1.15em");
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

    place_trace(trace, {group, line, dots, boxes, marks, bars = []}) {
        const {x, y} = trace, at = x.map((each, k) => [this.x(each), this.y(y[k])]);
        const is_there = each => each.every(Number.isFinite);
        group.attr("opacity", trace.opacity ?? 1);
        line?.attr("d", trace.fill ? d3.line().curve(d3.curveLinearClosed)(at.filter(is_there))
            : d3.line().defined(is_there)(at));
        dots?.attr("d", at.filter(each => this.holds(each))
            .map(([a, b]) => `M${a.toFixed(1)},${b.toFixed(1)}h0`).join(""));
        if (boxes) {
            const begin = this.x(0), ends = at.map(([a]) => Number.isFinite(a) ? Math.max(0, a) : begin);
            const tall = Math.abs(this.y(trace.width) - this.y(0));
            set(boxes, {x: (_, k) => Math.min(begin, ends[k]), width: (_, k) => Math.abs(ends[k] - begin),
                y: (_, k) => at[k][1] - tall / 2, height: tall});
            if (trace.colours) boxes.attr("fill", (_, k) => trace.colours[k]);
        }
        marks?.data(at).attr("visibility", each => this.holds(each) ? "visible" : "hidden")
            .filter(each => this.holds(each))
            .attr("transform", ([a, b]) => `translate(${a.toFixed(1)},${b.toFixed(1)})`);
        if (trace.fills) marks?.attr("fill", trace.fills);
        if (trace.rim) marks?.attr("stroke", trace.rim);
        for (const [axis, below, above, bar] of bars)
            bar.attr("d", at.map(([a, b], k) => {
                const [low, high] = [below[k], above[k]].map((size, side) => size === null ? NaN
                    : this[axis](trace[axis][k] + (side ? size : -size)));
                if (![a, b, low, high].every(Number.isFinite)) return "";
                return axis === "x" ? `M${low},${b}H${high}` : `M${a},${low}V${high}`;
            }).join(""));
    }

    // Where a note or shape says that it is: on an axis, or at a share of the room between the axes.
    at(axis, value, ref) {
        if (ref !== "paper") return this[axis](value);
        return axis === "x" ? this.width * value : this.height * (1 - value);
    }

    place_note(note, group) {
        // Plotly's notes, and they alone, give the logarithm on such an axis.
        const [x, y] = [["x", note.x, note.xref], ["y", note.y, note.yref]].map(([axis, value, ref], k) =>
            this.at(axis, ref !== "paper" && this.scales[k].type === "log" ? 10 ** value : value, ref));
        const is_there = Number.isFinite(x) && Number.isFinite(y);
        group.attr("visibility", is_there ? null : "hidden");
        if (!is_there) return;
        group.attr("transform", `translate(${x.toFixed(1)},${y.toFixed(1)})`);
        if (group.said === note.text) return;
        group.said = note.text;
        const [dx, dy] = (note.showarrow ? [note.ax, note.ay] : [note.xshift ?? 0, -(note.yshift ?? 0)])
            .map(each => this.grown * each);
        const size = this.grown * note.font.size, step = 1.3 * size, lines = linesOf(note.text);
        const begins = {top: 0, bottom: -step * lines.length}[note.yanchor] ?? -step * lines.length / 2;
        group.selectAll("*").remove();
        if (note.showarrow && note.arrowcolor !== "rgba(0,0,0,0)") {
            const from = (note.standoff ?? 0) / Math.hypot(dx, dy);
            set(group.append("path"), {d: `M${dx * from},${dy * from}L${dx},${dy}`, stroke: note.arrowcolor});
        }
        const text = group.append("g").attr("class", "annotation-text").selectAll("text");
        const written = set(text.data(lines).join("text"), {
            x: dx, y: (_, k) => dy + begins + size + step * k, "font-size": size, fill: note.font.color,
            "font-weight": note.text.startsWith("<b>") ? 700 : null,
            "text-anchor": {left: "start", right: "end"}[note.xanchor] ?? "middle"});
        if (note.bgcolor) set(written, {stroke: note.bgcolor, "stroke-width": 4, "paint-order": "stroke",
            "stroke-linejoin": "round"});
        // A sign of a line's colour stands for it.
        const [, tint, glyph = ""] = /<span style="color:([^"]+)">([^<]+)<\/span>/.exec(note.text) ?? [];
        written.selectAll("tspan").data(line => glyph && line.includes(glyph)
            ? line.split(glyph).flatMap((each, k) => k ? [glyph, each] : [each]) : [line]).join("tspan")
            .text(each => each).attr("fill", each => each === glyph ? tint : null);
    }

    place_shape({type, x0, x1, y0, y1, xref, yref, line, fillcolor}, path) {
        const is_box = type === "rect", [a, b] = [x0, x1].map(each => this.at("x", each, xref));
        const [c, d] = [y0, y1].map(each => this.at("y", each, yref));
        const drawn = is_box ? `M${a},${c}H${b}V${d}H${a}Z` : `M${a},${c}L${b},${d}`;
        set(path, {d: [a, b, c, d].every(Number.isFinite) ? drawn : null, fill: is_box ? fillcolor : "none",
            stroke: is_box ? "none" : line.color, "stroke-dasharray": DASHES[line.dash] ?? null});
    }

    // What speaks, from left to right.
    points() {
        return this.traces.filter(({hovertemplate, type, mode = ""}) => hovertemplate
            && (type === "bar" || mode.includes("markers"))).flatMap(trace => trace.x.map(
                (x, k) => ({trace, k, x: this.x(x), y: this.y(trace.y[k])})))
            .filter(({x, y}) => this.holds([x, y])).sort((a, b) => a.x - b.x);
    }

    hover(event) {
        const [px, py] = d3.pointer(event, this.inner.node());
        const away = ({x, y}) => Math.hypot(x - px, y - py), found = d3.least(this.points(), away);
        this.tell(found && away(found) < 22 ? found : undefined);
    }

    // Arrows go from point to point.
    key(event) {
        const by = {ArrowRight: 1, ArrowLeft: -1}[event.key], points = this.points();
        if (!by || !points.length) return;
        event.preventDefault();
        this.spoken = this.tip.property("hidden") ? 0 : Math.max(0, Math.min(points.length - 1, this.spoken + by));
        this.tell(points[this.spoken]);
    }

    tell(found) {
        this.tip.property("hidden", !found);
        if (!found) return;
        this.tip.selectAll("div").data(this.said(found)).join("div").text(line => line);
        const x = this.left + found.x, wide = this.tip.node().offsetWidth, width = this.element.clientWidth;
        const left = x + 14 + wide > width ? x - 14 - wide : x + 14;
        this.tip.style("left", `${Math.max(0, left)}px`)
            .style("top", `${this.element.querySelector("figcaption").offsetHeight + Math.max(0, found.y)}px`);
    }

    // What a hover template says of a trace's k-th point.
    said({trace, k}) {
        const at = {x: trace.x[k], y: trace.y[k], text: trace.text?.[k]};
        return linesOf(trace.hovertemplate.replace("<extra></extra>", "").replace(
            /%\{(\w+)(?:\[(\d+)\])?(?:[:|]([^}]*))?\}/g, (_, name, place, format) => formatted(
                name === "customdata" ? trace.customdata[k][place] : at[name], format)));
    }

    save() {
        const svg = this.svg.node(), {width, height} = svg.viewBox.baseVal, copy = svg.cloneNode(true), head = 52;
        set(d3.select(copy), {viewBox: `0 ${-head} ${width} ${height + head}`, height: height + head}).selectAll(".head")
            .data(d3.select(this.element).selectAll(".gtitle, .gtitle-subtitle").nodes()).join("text")
            .attr("x", 8).attr("y", (_, k) => -30 + 20 * k).attr("font-size", (_, k) => k ? 13 : 16)
            .attr("font-weight", (_, k) => k ? null : 700).attr("fill", this.layout.font.color)
            .text(each => each.textContent);
        const picture = new Blob([new XMLSerializer().serializeToString(copy)], {type: "image/svg+xml"});
        const hand_over = (blob, form) => {
            const link = Object.assign(document.createElement("a"),
                {href: URL.createObjectURL(blob), download: `${this.name}.${form}`});
            link.click();
            setTimeout(() => URL.revokeObjectURL(link.href), 1000);
        };
        if (this.form === "svg") return hand_over(picture, "svg");
        const image = new Image(), canvas = document.createElement("canvas");
        image.onload = () => {
            Object.assign(canvas, {width: 2 * width, height: 2 * (height + head)});
            canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
            URL.revokeObjectURL(image.src);
            canvas.toBlob(blob => hand_over(blob, "png"));
        };
        image.src = URL.createObjectURL(picture);
    }
}
