// One slider, the pictures and cards that follow it, and a table of what they show.
// The hand moves what is in `moves` between stops that were computed; letting go tells the server.

// How fast pictures follow: in so many milliseconds the way left falls to a third.
const FOLLOWS_IN = 45;
const PARTS = `<div class="control"><div class="top"><label for="at"></label><output></output></div>
    <input type="range" id="at" min="0" step="1"><div class="ticks" aria-hidden="true"></div>
    <div class="more"></div></div>
    <div class="figures"></div><div class="cards"></div>
    <details class="table"><summary></summary><table><thead><tr></tr></thead><tbody></tbody></table></details>`;

// Text that opens beside a question mark.
function help(text, about, parent) {
    if (!text) return;
    const folded = parent.append("details").attr("class", "help");
    folded.append("summary").text("?").attr("aria-label", `What is this? ${about}`);
    folded.append("div").text(text);
}

class Stage {
    constructor(root) {
        Object.assign(this, {root, held: false, keys: new Set(), asked: null, chosen: 0, seen: ""});
        this.still = matchMedia("(prefers-reduced-motion: reduce)");
        root.innerHTML = PARTS;
        this.find = name => d3.select(root.querySelector(name));
        this.input = this.find("input");
        this.input.on("input", () => { this.playing = false; this.go(Number(this.input.property("value"))); })
            .on("pointerdown", () => { this.held = true; })
            .on("keydown", event => this.keys.add(event.key))
            .on("keyup", event => { this.keys.delete(event.key); this.release(); })
            .on("blur", () => { this.keys.clear(); this.held = false; this.release(); })
            // A change: after the pointer was let go, or by a reader that moves the slider without key or pointer.
            .on("change pointerup pointercancel", () => { this.held = false; this.release(); });
        this.find(".table").on("toggle", () => { if (this.data?.table) this.fill(); });
        this.watch = new ResizeObserver(() => this.fit());
    }

    show(data) {
        // Pictures never change under the hand.
        this.later = this.held || this.keys.size || this.playing ? data : null;
        if (this.later) return;
        const {slider, figures, cards, table} = data, begins = !this.data;
        const drawn = JSON.stringify([figures, data.moves, cards, table, slider.stops, data.variants?.names]);
        this.data = data;
        const variant = data.variants?.at ?? 0;
        if (this.asked === variant * slider.stops.length + slider.at) this.asked = null;
        if (drawn !== this.seen) {
            this.seen = drawn;
            this.build(data);
        }
        if (this.asked === null) {
            this.choose(variant);
            this.go(slider.at, begins || slider.at === this.target);
        } else this.place(this.at);
        this.told = this.state();
        this.watch.observe(this.root);
    }

    build({slider, variants, figures, cards, table}) {
        const end = slider.stops.length - 1, top = this.find(".top"), place = this.find(".figures").node();
        this.find("label").text(slider.label);
        top.select(".help").remove();
        help(slider.help, slider.label, top);
        this.input.attr("max", end);
        this.find(".ticks").selectAll("span").data(slider.ticks).join("span")
            .style("left", tick => `${100 * tick / end}%`);
        this.build_more(slider, variants);
        // Its height stays while it is empty: the page must not jump.
        place.style.minHeight = `${place.offsetHeight}px`;
        place.replaceChildren();
        // Pictures as tall as most of the window may be narrow: side by side they stay in it.
        if (figures[0].share) place.style.setProperty("--narrowest", "300px");
        this.figures = figures.map(each => new Figure(each, place));
        // A column's width is known once all are there.
        this.figures.forEach(each => each.draw());
        place.style.minHeight = "";
        const boxes = this.find(".cards").html("").selectAll("div").data(cards).join("div").attr("class", "card");
        boxes.append("div").attr("class", "name").text(card => card.title)
            .each((card, k, heads) => help(card.help, card.title, d3.select(heads[k])));
        this.cards = ["value", "below"].map(name => boxes.append("div").attr("class", name));
        this.find(".table").property("hidden", !table).select("summary").text(table?.title);
        this.wide = this.root.clientWidth;
    }

    // What some stages have besides: play and steps, and a choice among variants of all stops.
    build_more({play, stops}, variants) {
        const more = this.find(".more").html("");
        const button = (text, name, act) => more.append("button").attr("class", "step").attr("type", "button")
            .attr("aria-label", name).text(text).on("click", act);
        const step = by => () => {
            this.playing = false;
            this.go(Math.max(0, Math.min(stops.length - 1, this.target + by)));
            this.release();
        };
        this.player = play ? button("", "", () => this.playing ? this.pause() : this.play()) : null;
        this.say_play();
        if (play) button("‹", "One step back", step(-1));
        if (play) button("›", "One step forward", step(1));
        if (!variants) return;
        const group = more.append("fieldset");
        group.append("legend").text(variants.label);
        const labels = group.selectAll("label").data(variants.names).join("label");
        labels.append("input").attr("type", "radio").attr("name", "variant").on("change", (_, name) => {
            this.choose(variants.names.indexOf(name));
            this.go(this.target, true);
            this.release();
        });
        labels.append("span").text(name => name);
    }

    choose(variant) {
        this.chosen = variant;
        this.find(".more").selectAll("input").property("checked", (_, k) => k === variant);
    }

    // Place of what is shown among the stops of all variants.
    state() { return this.chosen * this.data.slider.stops.length + this.target; }

    play() {
        const {stops, play} = this.data.slider, end = stops.length - 1;
        if (this.target === end) this.go(0, true);
        if (this.still.matches) this.go(end);
        const from = this.target, begun = performance.now();
        this.playing = true;
        this.say_play();
        const tick = now => {
            if (!this.playing || !this.root.isConnected) return this.pause();
            const to = Math.min(end, from + Math.max(0, Math.floor((now - begun) / play)));
            if (to !== this.target) this.go(to);
            if (to === end) this.pause();
            else requestAnimationFrame(tick);
        };
        requestAnimationFrame(tick);
    }

    pause() {
        this.playing = false;
        this.say_play();
        this.release();
    }

    say_play() {
        this.player?.text(this.playing ? "❚❚ Pause" : "▶ Play").attr("aria-label", this.playing ? "Pause" : "Play");
    }

    fit() {
        if (this.root.clientWidth === this.wide || !this.figures) return;
        this.wide = this.root.clientWidth;
        this.figures.forEach(each => each.draw());
        this.place(this.at);
    }

    go(target, at_once = false) {
        this.target = target;
        const {slider, cards, table} = this.data, state = this.state();
        const name = `${slider.symbol} = ${slider.stops[target]}`;
        const said = [name, ...cards.map(each => `${each.title} ${each.values[state]}`)].join("; ");
        this.input.property("value", target).attr("aria-valuetext", slider.said?.[state] ?? said);
        this.find("output").text(name);
        const [values, below] = this.cards;
        values.text(card => card.values[state]);
        below.text(card => card.below[state]);
        if (at_once || this.still.matches || this.at === undefined) {
            this.at = target;
            this.place(target);
        } else if (!this.frame) {
            this.last = performance.now();
            this.frame = requestAnimationFrame(now => this.step(now));
        }
        if (table) this.fill();
    }

    step(now) {
        const gap = this.target - this.at, passed = Math.max(0, Math.min(60, now - this.last));
        this.last = now;
        // What stands still is always a stop.
        this.at = Math.abs(gap) < 0.05 ? this.target : this.at + gap * (1 - Math.exp(-passed / FOLLOWS_IN));
        this.place(this.at);
        this.frame = this.at === this.target ? null : requestAnimationFrame(next => this.step(next));
    }

    // Everything that moves, on its way between two stops.
    place(at) {
        const low = Math.floor(at), high = Math.ceil(at), share = at - low;
        const first = this.chosen * this.data.slider.stops.length;
        const glide = (a, b) => Array.isArray(a) ? a.map((each, k) => glide(each, b[k]))
            // What is not there, and what is no number, changes at once.
            : typeof a === "number" && typeof b === "number" ? a + share * (b - a) : share < 0.5 ? a : b;
        const rescaled = new Set();
        for (const {figure, kind, part, mix, ...moved} of this.data.moves) {
            const drawn = this.figures[figure], own = drawn[`${kind}s`][part];
            for (const [name, values] of Object.entries(moved))
                own[name] = glide(values[first + low], values[first + high]);
            if (mix) {
                const shares = mix.shares.map(each => glide(each[first + low], each[first + high]));
                own.y = d3.transpose(mix.parts).map(each => {
                    const sum = d3.sum(each, (value, k) => shares[k] * value);
                    return each.includes(null) ? null : mix.exp ? Math.exp(sum) : sum;
                });
            }
            if (kind === "scale") rescaled.add(drawn);
            else if (drawn.parts.tick && !rescaled.has(drawn)) drawn.place(kind, part);
        }
        // A new scale moves everything.
        rescaled.forEach(each => each.draw());
    }

    fill() {
        const {table, moves, slider} = this.data, drawn = this.find("table"), body = drawn.select("tbody");
        if (!this.find(".table").property("open") && body.node().childElementCount) return;
        const cells = table.cells?.[this.state()]
            ?? moves[table.move].y[this.state()].map(each => [formatted(each, ",.4~r")]);
        const heads = table.cells ? table.head : [...table.head, `${slider.symbol} = ${slider.stops[this.target]}`];
        drawn.select("thead tr").selectAll("th").data(heads).join("th").attr("scope", "col").text(head => head);
        body.selectAll("tr").data(table.rows.map((row, k) => [...row, ...cells[k]])).join("tr").selectAll("th, td")
            .data(row => row).join(enter => enter.append((_, k) => document.createElement(k ? "td" : "th")))
            .attr("scope", (_, k) => k ? null : "row").text(each => each);
    }

    release() {
        if (this.held || this.keys.size || this.playing) return;
        const {later} = this;
        if (this.state() !== this.told) {
            this.told = this.asked = this.state();
            this.tell(this.told);
        }
        if (later) this.show(later);
    }

    rest() {
        cancelAnimationFrame(this.frame);
        this.frame = null;
        this.watch.disconnect();
    }

    // Title to names to what is drawn.
    drawn() {
        return Object.fromEntries(this.figures.map(figure => [figure.title, Object.fromEntries(
            figure.traces.map(trace => [trace.name, {x: [...trace.x], y: [...trace.y]}]))]));
    }
}

function mount({data, parentElement, setTriggerValue}) {
    const root = parentElement.querySelector(".stage");
    root.stage ??= new Stage(root);
    root.stage.tell = at => setTriggerValue("released", at);
    root.stage.show(data);
    return () => root.stage.rest();
}
