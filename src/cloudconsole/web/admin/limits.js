// A ticked "unlimited" disables the number beside it, which stays for when it is unticked.

for (const pair of document.querySelectorAll(".limit-pair")) {
  const [number, unlimited] = pair.querySelectorAll("input");
  const follow = () => {
    number.disabled = unlimited.checked;
  };
  unlimited.addEventListener("change", follow);
  follow();
}
