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
        this.seen = "";
        this.still = matchMedia("(prefers-reduced-motion: reduce)");
        root.innerHTML = `<div class="control"><div class="top"><label for="at"></label><output></output></div>
            <input type="range" id="at" min="0" step="1"><div class="ticks" aria-hidden="true"></div></div>
            <div class="figures"></div><div class="cards"></div>
            <details class="table"><summary></summary><table></table></details>`;
        this.find = name => root.querySelector(name);
        this.input = this.find("input");
        this.input.addEventListener("input", () => this.go(Number(this.input.value)));
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
        if (this.held || this.keys.size) { this.later = data; return; }
        this.later = null;
        const {slider, figures, cards, table} = data, begins = !this.data;
        const drawn = JSON.stringify([figures, data.moves, cards, table, slider.stops]);
        this.data = data;
        if (this.asked === slider.at) this.asked = null;
        if (drawn !== this.seen) {
            this.seen = drawn;
            this.build(data);
        }
        if (this.asked === null) this.go(slider.at, begins || slider.at === this.target);
        else this.place(this.at);
        this.told = this.target;
        this.watch.observe(this.root);
    }

    build({slider, figures, cards, table}) {
        this.find("label").textContent = slider.label;
        this.find(".top .help")?.remove();
        help(slider.help, slider.label, this.find(".top"));
        this.input.max = slider.stops.length - 1;
        const ticks = this.find(".ticks"), end = slider.stops.length - 1;
        ticks.replaceChildren();
        for (const tick of slider.ticks) element("span", "", ticks).style.left = `${100 * tick / end}%`;
        const place = this.find(".figures");
        // Its height stays while it is empty: the page must not jump.
        place.style.minHeight = `${place.offsetHeight}px`;
        place.replaceChildren();
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

    fit() {
        if (this.root.clientWidth === this.wide || !this.figures) return;
        this.wide = this.root.clientWidth;
        this.figures.forEach(each => each.draw());
        this.place(this.at);
    }

    go(target, at_once = false) {
        this.target = target;
        this.input.value = target;
        const {slider, cards} = this.data, name = slider.stops[target];
        this.find("output").textContent = `${slider.symbol} = ${name}`;
        this.input.setAttribute("aria-valuetext", slider.said?.[target] ?? [`${slider.symbol} = ${name}`,
            ...cards.map(each => `${each.title} ${each.values[target]}`)].join("; "));
        this.cards.forEach(([value, below], k) => {
            value.textContent = cards[k].values[target];
            below.textContent = cards[k].below[target];
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
        const between = (a, b) => a === null || b === null ? (share < 0.5 ? a : b) : a + share * (b - a);
        const rescaled = new Set();
        for (const {figure, kind, part, mix, ...moved} of this.data.moves) {
            const drawn = this.figures[figure], own = drawn[`${kind}s`][part];
            if (mix) {
                const shares = mix.shares.map(each => between(each[low], each[high]));
                const sum = k => mix.parts.reduce((all, each, j) => all + shares[j] * each[k], 0);
                own.y = mix.parts[0].map((_, k) => mix.exp ? Math.exp(sum(k)) : sum(k));
            }
            for (const [name, values] of Object.entries(moved)) {
                const a = values[low], b = values[high];
                if (Array.isArray(a)) own[name] = a.map((each, k) => between(each, b[k]) ?? NaN);
                else own[name] = typeof a === "number" ? between(a, b) : values[near];
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
        const cells = table.cells?.[this.target]
            ?? moves[table.move].y[this.target].map(each => [formatted(each, ".4~g")]);
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
        if (this.held || this.keys.size) return;
        const {later} = this;
        if (this.target !== this.told) {
            this.told = this.asked = this.target;
            this.tell(this.target);
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

export default function ({data, parentElement, setTriggerValue}) {
    const root = parentElement.querySelector(".stage");
    root.stage ??= new Stage(root);
    root.stage.tell = at => setTriggerValue("released", at);
    root.stage.show(data);
    return () => root.stage.rest();
}
