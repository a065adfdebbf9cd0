// Shows a page of its own where the server cannot be reached. All else goes to the server as ever.
const OFFLINE = ["./offline.html", "./offline.css", "./offline.js", "./icon.svg"];

addEventListener("install", (event) => {
	event.waitUntil(caches.open("offline").then((cache) => cache.addAll(OFFLINE)));
	skipWaiting();
});

addEventListener("fetch", (event) => {
	const { request } = event;
	if (request.mode === "navigate")
		event.respondWith(fetch(request).catch(() => caches.match("./offline.html")));
	else if (OFFLINE.some((path) => request.url === new URL(path, location.href).href))
		event.respondWith(fetch(request).catch(() => caches.match(request)));
});
