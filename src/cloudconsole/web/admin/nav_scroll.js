// On narrow screens the navigation bar scrolls: bring the current item into view.

const current = document.querySelector(".main-nav [aria-current]");
const bar = current?.closest("ul");
if (bar) bar.scrollLeft = current.offsetLeft - (bar.clientWidth - current.offsetWidth) / 2;
