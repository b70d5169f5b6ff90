// The theme gives its search the role of a dialog, and no name that a screen reader could say.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
