// One slider, the pictures and cards that follow it, and a table of what they show.
// The hand moves what is in `moves` between stops that were computed; letting go tells the server.

// How fast pictures follow: in so many milliseconds the way left falls to a third.
const FOLLOWS_IN = 45;

function element(name, style, parent, text = "") {
    const made = document.createElement(name);
    if (style) made.className = style;
    made.textContent = text;
    parent.append(made);
    return made;
}

// Text that opens beside a question mark.
function help(text, about, parent) {
    if (!text) return;
    const folded = element("details", "help", parent);
    element("summary", "", folded, "?").setAttribute("aria-label", `What is this? ${about}`);
    element("div", "", folded, text);
}

class Stage {
    constructor(root) {
        this.root = root;
        this.held = false;
        this.keys = new Set();
        this.asked = null;
        this.chosen = 0;
        this.seen = "";
        this.still = matchMedia("(prefers-reduced-motion: reduce)");
        root.innerHTML = `<div class="control"><div class="top"><label for="at"></label><output></output></div>
            <input type="range" id="at" min="0" step="1"><div class="ticks" aria-hidden="true"></div>
            <div class="more"></div></div>
            <div class="figures"></div><div class="cards"></div>
            <details class="table"><summary></summary><table></table></details>`;
        this.find = name => root.querySelector(name);
        this.input = this.find("input");
        this.input.addEventListener("input", () => {
            this.playing = false;
            this.go(Number(this.input.value));
        });
        this.input.addEventListener("pointerdown", () => { this.held = true; });
        this.input.addEventListener("keydown", event => this.keys.add(event.key));
        this.input.addEventListener("keyup", event => { this.keys.delete(event.key); this.release(); });
        this.input.addEventListener("blur", () => { this.keys.clear(); this.held = false; this.release(); });
        // After the pointer was let go, or by a reader that moves the slider without key or pointer.
        this.input.addEventListener("change", () => { this.held = false; this.release(); });
        for (const name of ["pointerup", "pointercancel"])
            this.input.addEventListener(name, () => { this.held = false; this.release(); });
        this.find(".table").addEventListener("toggle", () => { if (this.data?.table) this.fill(); });
        this.watch = new ResizeObserver(() => this.fit());
    }

    show(data) {
        // Pictures never change under the hand.
        if (this.held || this.keys.size || this.playing) { this.later = data; return; }
        this.later = null;
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
        this.find("label").textContent = slider.label;
        this.find(".top .help")?.remove();
        help(slider.help, slider.label, this.find(".top"));
        this.input.max = slider.stops.length - 1;
        const ticks = this.find(".ticks"), end = slider.stops.length - 1;
        ticks.replaceChildren();
        for (const tick of slider.ticks) element("span", "", ticks).style.left = `${100 * tick / end}%`;
        this.build_more(slider, variants);
        const place = this.find(".figures");
        // Its height stays while it is empty: the page must not jump.
        place.style.minHeight = `${place.offsetHeight}px`;
        place.replaceChildren();
        // Pictures as tall as most of the window may be narrow: side by side they stay in it.
        if (figures[0].share) place.style.setProperty("--narrowest", "300px");
        this.figures = figures.map(each => new Figure(each, place));
        // A column's width is known once all are there.
        this.figures.forEach(each => each.draw());
        place.style.minHeight = "";
        const row = this.find(".cards");
        row.replaceChildren();
        this.cards = cards.map(card => {
            const box = element("div", "card", row), head = element("div", "name", box, card.title);
            help(card.help, card.title, head);
            return [element("div", "value", box), element("div", "below", box)];
        });
        this.find(".table").hidden = !table;
        if (table) this.find(".table > summary").textContent = table.title;
        this.wide = this.root.clientWidth;
    }

    // What some stages have besides: play and steps, and a choice among variants of all stops.
    build_more(slider, variants) {
        const more = this.find(".more");
        more.replaceChildren();
        const button = (text, name, act) => {
            const made = element("button", "step", more, text);
            made.type = "button";
            made.setAttribute("aria-label", name);
            made.onclick = act;
            return made;
        };
        this.player = slider.play ? button("", "", () => this.playing ? this.pause() : this.play()) : null;
        this.say_play();
        for (const [text, name, by] of slider.play ? [["‹", "One step back", -1], ["›", "One step on", 1]] : [])
            button(text, name, () => {
                this.playing = false;
                this.go(Math.max(0, Math.min(slider.stops.length - 1, this.target + by)));
                this.release();
            });
        this.radios = [];
        if (!variants) return;
        const group = element("fieldset", "", more);
        element("legend", "", group, variants.label);
        this.radios = variants.names.map((name, k) => {
            const label = element("label", "", group), radio = element("input", "", label);
            Object.assign(radio, {type: "radio", name: "variant"});
            label.append(name);
            radio.onchange = () => { this.choose(k); this.go(this.target, true); this.release(); };
            return radio;
        });
    }

    choose(variant) {
        this.chosen = variant;
        if (this.radios[variant]) this.radios[variant].checked = true;
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
        if (!this.player) return;
        this.player.textContent = this.playing ? "❚❚ Pause" : "▶ Play";
        this.player.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    }

    fit() {
        if (this.root.clientWidth === this.wide || !this.figures) return;
        this.wide = this.root.clientWidth;
        this.figures.forEach(each => each.draw());
        this.place(this.at);
    }

    go(target, at_once = false) {
        this.target = target;
        const state = this.state();
        this.input.value = target;
        const {slider, cards} = this.data, name = slider.stops[target];
        this.find("output").textContent = `${slider.symbol} = ${name}`;
        this.input.setAttribute("aria-valuetext", slider.said?.[state] ?? [`${slider.symbol} = ${name}`,
            ...cards.map(each => `${each.title} ${each.values[state]}`)].join("; "));
        this.cards.forEach(([value, below], k) => {
            value.textContent = cards[k].values[state];
            below.textContent = cards[k].below[state];
        });
        if (at_once || this.still.matches || this.at === undefined) {
            this.at = target;
            this.place(target);
        } else if (!this.frame) {
            this.last = performance.now();
            this.frame = requestAnimationFrame(now => this.step(now));
        }
        if (this.data.table) this.fill();
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
        const low = Math.floor(at), high = Math.ceil(at), share = at - low, near = Math.round(at);
        const first = this.chosen * this.data.slider.stops.length;
        const between = (a, b) => a === null || b === null ? (share < 0.5 ? a : b) : a + share * (b - a);
        const rescaled = new Set();
        for (const {figure, kind, part, mix, ...moved} of this.data.moves) {
            const drawn = this.figures[figure], own = drawn[`${kind}s`][part];
            if (mix) {
                const shares = mix.shares.map(each => between(each[first + low], each[first + high]));
                const sum = k => mix.parts.reduce((all, each, j) => all + shares[j] * each[k], 0);
                own.y = mix.parts[0].map((_, k) => mix.exp ? Math.exp(sum(k)) : sum(k));
            }
            for (const [name, values] of Object.entries(moved)) {
                const a = values[first + low], b = values[first + high];
                if (Array.isArray(a)) own[name] = a.map((each, k) => between(each, b[k]) ?? NaN);
                else own[name] = typeof a === "number" ? between(a, b) : values[first + near];
            }
            if (kind === "scale") rescaled.add(drawn);
            else if (drawn.parts && !rescaled.has(drawn)) drawn.place(kind, part);
        }
        // A new scale moves everything.
        rescaled.forEach(each => each.draw());
    }

    fill() {
        const {table, moves} = this.data, drawn = this.find("table");
        if (!this.find(".table").open && drawn.childElementCount) return;
        const name = `${this.data.slider.symbol} = ${this.data.slider.stops[this.target]}`;
        const cells = table.cells?.[this.state()]
            ?? moves[table.move].y[this.state()].map(each => [formatted(each, ".4~g")]);
        const heads = table.cells ? table.head : [...table.head, name];
        drawn.replaceChildren();
        const head = element("tr", "", element("thead", "", drawn));
        for (const each of heads) element("th", "", head, each).scope = "col";
        const body = element("tbody", "", drawn);
        table.rows.forEach((row, k) => {
            const line = element("tr", "", body);
            row.forEach((each, j) => { element(j ? "td" : "th", "", line, each).scope = j ? "" : "row"; });
            for (const each of cells[k]) element("td", "", line, each);
        });
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
