// Draw each figure when it is scrolled near the window, and redraw it when the page turns light or dark.
(() => {
  const drawn = {};
  const scheme = () => (document.body.dataset.mdColorScheme === "slate" ? "dark" : "light");
  const load = (name) =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `assets/gallery/${name}.js`;
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    });
  const draw = (place) => {
    const figure = drawn[place.dataset.figure]?.[scheme()];
    if (figure) {
      const layout = { ...figure.layout, autosize: true };
      Plotly.react(place, figure.data, layout, { responsive: true, displayModeBar: false });
    }
  };
  window.fairdashFigure = (name, schemes) => {
    drawn[name] = schemes;
  };
  const places = [...document.querySelectorAll(".fairdash-figure")];
  let library;
  const watch = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        watch.unobserve(target);
        library ??= load("plotly");
        Promise.all([library, load(target.dataset.figure)]).then(() => draw(target));
      }
    },
    { rootMargin: "600px" },
  );
  places.forEach((place) => watch.observe(place));
  new MutationObserver(() => places.forEach(draw)).observe(document.body, {
    attributes: true,
    attributeFilter: ["data-md-color-scheme"],
  });
})();
