// The theme's search box has the role of a dialog but no name for screen readers, so add one.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
