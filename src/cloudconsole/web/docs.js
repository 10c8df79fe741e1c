// Shows the commands of the API reference with the address of this console.

document.getElementById("base").textContent = location.origin;
