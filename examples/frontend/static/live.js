// Renews the list when the server says that something has changed, and shows the time that is left.
const list = document.getElementById("matches");
const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

function show() {
  for (const time of document.querySelectorAll("time")) {
    const left = Math.max(0, (new Date(time.dateTime) - Date.now()) / 1000);
    const [unit, size] = units.find(([, size]) => left >= size) ?? units[3];
    time.textContent = new Intl.NumberFormat([], { style: "unit", unit, unitDisplay: "long" })
      .format(Math.round(left / size)) + " left";
  }
  const turns = document.querySelectorAll(".yours").length;
  document.title = (turns ? `(${turns}) ` : "") + "The Card Room";
}

async function renew() {
  const answer = await fetch("/matches");
  if (answer.status === 401) location.reload(); // Signed out elsewhere.
  if (!answer.ok) return;
  const focused = document.activeElement?.getAttribute("href");
  list.innerHTML = await answer.text();
  list.querySelector(`a[href="${focused}"]`)?.focus();
  show();
}

if (list) {
  new EventSource("/events").onmessage = renew;
  setInterval(show, 1000);
  show();
}
