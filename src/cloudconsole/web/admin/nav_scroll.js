// On a phone the bar of places is wider than the window: the place that one is at is brought into view.

const here = document.querySelector(".places [aria-current]");
const bar = here?.closest("ul");
if (bar) bar.scrollLeft = here.offsetLeft - (bar.clientWidth - here.offsetWidth) / 2;
