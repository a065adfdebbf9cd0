// Renews the list when the server says that something has changed, and shows the time that is left.
const list = document.getElementById("matches");
const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
let asked = 0;

function show() {
  for (const time of document.querySelectorAll("time")) {
    const left = Math.max(0, (new Date(time.dateTime) - Date.now()) / 1000);
    const [unit, size] = units.find(([, size]) => left >= size) ?? units[3];
    const style = { style: "unit", unit, unitDisplay: "long" };
    time.textContent = `${new Intl.NumberFormat("en", style).format(Math.round(left / size))} left`;
  }
  const turns = document.querySelectorAll(".yours").length;
  document.title = `${turns ? `(${turns}) ` : ""}The Card Room`;
}

async function renew() {
  const number = ++asked;
  const answer = await fetch("/matches").catch(() => undefined);
  if (!answer) return; // When the server is back, so is the stream, whose first event renews.
  if (answer.status === 401) location.reload(); // Signed out elsewhere.
  const text = await answer.text();
  if (!answer.ok || number !== asked) return; // A later answer knows more.
  const focused = document.activeElement?.getAttribute("href");
  list.innerHTML = text;
  list.querySelector(`a[href="${focused}"]`)?.focus();
  show();
}

function listen() {
  const events = new EventSource("/events");
  events.onmessage = renew;
  // A lost stream comes back by itself, but not after an answer such as that of a proxy.
  events.onerror = () => events.readyState === EventSource.CLOSED && setTimeout(listen, 5000);
}

if (list) {
  listen();
  show();
  setInterval(show, 1000);
}
