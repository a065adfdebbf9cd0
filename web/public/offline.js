// Goes on to the page that was asked for as soon as the server answers.
setInterval(() => {
	fetch("./", { method: "HEAD" }).then(
		() => location.reload(),
		() => undefined,
	);
}, 4000);
