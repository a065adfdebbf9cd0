// All texts of the web app in German.
import type { Texts } from "./en";

const cards = (n: number) => (n === 1 ? "1 Karte" : `${n} Karten`);

export const de: Texts = {
	table: "Croupier",
	tagline:
		"Kartenspiele mit verdeckten Händen. Spiel gegen einen Bot oder schick jemandem einen Link.",
	skip: "Zum Tisch springen",
	lobby: "Lobby",
	theme: "Farben",
	themes: { system: "System", light: "Hell", dark: "Dunkel" },
	languageLabel: "Sprache",
	settings: "Einstellungen",
	yourName: "Dein Name (freiwillig)",
	yourNameNote: "Dein Gegenüber sieht ihn. Höchstens 32 Zeichen.",
	alerts: "Wenn du dran bist",
	alertSound: "Einen Ton abspielen",
	alertNotification: "Eine Benachrichtigung zeigen, solange diese Seite im Hintergrund ist",
	alertDenied: "Dein Browser erlaubt dieser Seite keine Benachrichtigungen.",
	loading: "Lädt …",
	offline: "Der Server ist nicht erreichbar. Neuer Versuch …",
	notSent: "Der Server ist nicht erreichbar. Versuch es bitte noch einmal.",
	back: "Zurück zur Lobby",
	backToMatch: "Zurück zur Partie",
	close: "Schließen",
	cancel: "Abbrechen",
	copy: "Kopieren",
	copied: "Kopiert",
	share: "Teilen",
	you: "Du",
	me: "Du",
	friend: "Gegenüber",
	theOther: "Dein Gegenüber",
	bot: "Bot",
	theBot: "Der Bot",
	strengths: {
		RANDOM: "Zufall",
		BEGINNER: "Einsteiger",
		CASUAL: "Hobbyspieler",
		SKILLED: "Geübt",
		EXPERT: "Experte",
	},
	strengthNotes: {
		RANDOM: "Macht irgendeinen erlaubten Zug, ohne nachzudenken. Gut, um die Regeln zu lernen.",
		BEGINNER: "Probiert vor jedem Zug 20 Verläufe durch und übersieht deshalb vieles.",
		CASUAL:
			"Probiert vor jedem Zug 150 Verläufe durch. Er sieht einfache Drohungen und macht trotzdem Fehler.",
		SKILLED: "Probiert vor jedem Zug 1.000 Verläufe durch. Er nutzt die meisten Fehler aus.",
		EXPERT: "Probiert vor jedem Zug 10.000 Verläufe durch. Er blufft und ist schwer zu schlagen.",
	},
	chooseGame: "Wähle ein Spiel",
	playNow: "Spielen",
	rules: "Regeln",
	rulesOf: (game) => `Regeln: ${game}`,
	cardsOf: (game) => `Karten: ${game}`,
	copies: (n) => `${n}×`,
	newMatch: (game) => `Neue Partie: ${game}`,
	opponent: "Gegenüber",
	againstBot: "Ein Bot",
	againstFriend: "Jemand, den du per Link einlädst",
	hints: "Tipps",
	hintsAfterChoice: "Erst nach der Partie",
	hintsAllowedChoice: "Erlaubt",
	hintsAfterNote:
		"Während der Partie bekommt niemand Tipps. Danach könnt ihr sie zusammen analysieren.",
	hintsAllowedNote: "Beide dürfen sich während der Partie Tipps vom Computer geben lassen.",
	hintsAfter: "Tipps: erst nach der Partie.",
	hintsAllowed: "Tipps: erlaubt.",
	strength: "Stärke",
	yourSeat: "Dein Platz",
	anySeat: "Egal",
	clock: "Uhr",
	clocks: {
		none: "Keine Uhr",
		blitz: "5 min + 5 s",
		rapid: "15 min + 10 s",
		daily: "1 Tag je Zug",
		own: "Eigene",
	},
	clockNotes: {
		none: "Alle lassen sich so viel Zeit, wie sie wollen.",
		blitz:
			"Jede Seite hat 5 Minuten für die ganze Partie und bekommt mit jedem Zug 5 Sekunden dazu. Wer keine Zeit mehr hat, verliert.",
		rapid:
			"Jede Seite hat 15 Minuten für die ganze Partie und bekommt mit jedem Zug 10 Sekunden dazu. Wer keine Zeit mehr hat, verliert.",
		daily: "Wer für einen Zug länger als einen Tag braucht, verliert.",
		own: "Wer keine Zeit mehr hat, verliert. Bots haben keine Uhr.",
	},
	clockFor: "Die Zeit gilt",
	clockForAll: "für die ganze Partie",
	clockForEach: "für jeden Zug",
	clockTime: "Zeit für jede Seite",
	clockUnit: "Zeiteinheit",
	clockIncrement: "dazu für jeden gemachten Zug",
	clockLimits: "Höchstens 30 Tage, und höchstens ein Tag zusätzlich je Zug.",
	units: { seconds: "Sekunden", minutes: "Minuten", hours: "Stunden", days: "Tage" },
	range: (least, most) => `${least} bis ${most}`,
	time: (seconds) => {
		const units = [
			[86_400, "Tag", "Tage"],
			[3600, "Stunde", "Stunden"],
			[60, "Minute", "Minuten"],
			[1, "Sekunde", "Sekunden"],
		] as const;
		const [size, one, many] =
			units.find(([size]) => seconds % size === 0 && seconds > 0) ?? units[3];
		const n = seconds / size;
		return `${String(n).replace(".", ",")} ${n === 1 ? one : many}`;
	},
	clockNone: "Keine Uhr.",
	clockSentence: (all, plus, each) =>
		[
			all && `${all} für jede Seite${plus ? `, und ${plus} mehr mit jedem Zug` : ""}.`,
			each && `Höchstens ${each} für jeden Zug.`,
		]
			.filter(Boolean)
			.join(" "),
	deal: "Karten geben",
	invite: "Einladung erstellen",
	yourMatches: "Deine Partien",
	finished: "Beendet",
	remove: "Aus der Liste entfernen",
	removeSure: (what) => `Diese Partie entfernen? ${what}`,
	removeText:
		"Die Partie läuft noch. Dieser Browser vergisst dann deinen Platz: Du kannst hier nicht mehr weiterspielen, und dein Gegenüber wartet vergeblich. Wenn du aufhören willst, öffne die Partie und gib auf.",
	removeNot: "Partie öffnen",
	removeYes: "Entfernen",
	removed: (what) => `Entfernt: ${what}.`,
	noSeat:
		"Dieser Browser hat in dieser Partie keinen Platz. Öffne sie in dem Browser, in dem du spielst, oder frag nach dem Link zum Zuschauen.",
	turnYours: "Du bist dran",
	turnsYours: (n) => (n === 1 ? "Du bist in 1 Partie dran" : `Du bist in ${n} Partien dran`),
	turnTheirs: "Dein Gegenüber ist dran",
	waitingFriend: "Wartet auf dein Gegenüber",
	waitingFor: (who) => `Warten auf ${who.replace(/^Dein /, "dein ")}`,
	wantsRematch: "Möchte eine Revanche",
	running: "Läuft",
	over: "Beendet",
	outcomes: {
		won: "Gewonnen",
		lost: "Verloren",
		drawn: "Unentschieden",
		declined: "Nicht gespielt",
	},
	watching: "Du schaust zu",
	gone: "Nicht mehr auf dem Server",
	inviteTitle: "Jemanden einladen",
	inviteText:
		"Schick diesen Link weiter. Er gilt einmal, und die Partie beginnt, wenn jemand damit Platz nimmt.",
	inviteWaiting: "Die Karten werden gegeben, sobald dein Gegenüber Platz nimmt.",
	joinTitle: "Du bist zu einer Partie eingeladen",
	invitesYou: (who, game) => `${who} lädt dich zu einer Partie ${game} ein`,
	somebody: "Jemand",
	alreadyJoined: "Du hast diesen Platz schon genommen.",
	ownInvitation:
		"Das ist deine eigene Einladung. Schick sie der Person, mit der du spielen willst.",
	invitationExpired: "Diese Partie endete, bevor jemand Platz nahm.",
	qrCode: "Derselbe Link als QR-Code",
	join: "Platz nehmen",
	joining: "Einen Moment …",
	watchLink: "Link zum Zuschauen",
	watchLinkText: "Zuschauer sehen, was beide sehen dürfen, und keine verdeckte Karte.",
	yourTurn: "Du bist dran",
	waitOther: "Warten auf dein Gegenüber",
	theirTurn: (who) => `${who} überlegt`,
	spectating: "Du schaust zu.",
	submitting: "Wird gesendet …",
	reconnecting: "Verbindung verloren. Neuer Versuch … Du kannst weiter auswählen.",
	refused: {
		TOKEN_REPLACED: "Dieser Platz wird jetzt auf einem anderen Gerät gespielt.",
		TOKEN_INVALID: "Der Server kennt diesen Platz nicht mehr.",
		MATCH_NOT_FOUND: "Der Server kennt diese Partie nicht mehr.",
		STALE_VERSION: "Die Partie ist schon weiter. Bitte wähle noch einmal.",
		NOT_TO_DECIDE: "Du bist gerade nicht dran.",
		INVITATION_USED:
			"Diese Einladung wurde schon benutzt. Warst du das, dann öffne die Partie in dem Browser, in dem du Platz genommen hast.",
		INVITATION_INVALID: "Diese Einladung gilt hier nicht.",
		TOO_MANY_SEARCHES: "Gerade laufen zu viele Suchen. Versuch es gleich noch einmal.",
		BUDGET_EXHAUSTED: "Zu viele Anfragen. Versuch es gleich noch einmal.",
		MATCH_OVER: "Die Partie ist beendet.",
		HINTS_NOT_ALLOWED: "Während dieser Partie gibt es keine Tipps.",
		REMATCH_NOT_OFFERED: "Die Revanche wird nicht mehr angeboten oder hat schon begonnen.",
	},
	confirm: "Spielen",
	undo: "Zurücknehmen",
	chooseCard: "Wähle eine Karte.",
	chooseAction: "Wähle, was du tust.",
	chooseOn: "Wähle weiter, oder nimm zurück.",
	aCard: "eine Karte",
	yes: "ja",
	no: "nein",
	nothing: "Nichts",
	resign: "Aufgeben",
	resignSure: "Diese Partie aufgeben?",
	resignYes: "Ja, aufgeben",
	rematch: "Revanche",
	rematchWaiting: (who) =>
		`Du hast eine Revanche angeboten. Warten auf ${who.replace(/^Dein /, "dein ")} …`,
	rematchOffered: (who) => `${who} möchte eine Revanche.`,
	rematchAccept: "Annehmen",
	rematchDecline: "Ablehnen",
	rematchTakeBack: "Angebot zurückziehen",
	rematchEnter: "Zur Revanche",
	rematchTakenBack: "Du hast dein Angebot zurückgezogen.",
	rematchRefused: "Du hast die Revanche abgelehnt.",
	rematchDeclined: (who) => `${who} hat die Revanche abgelehnt.`,
	rematchWithdrawn: (who) => `${who} hat das Angebot einer Revanche zurückgezogen.`,
	replay: "Nachspielen",
	won: "Du gewinnst!",
	lost: "Du verlierst.",
	drawn: "Unentschieden.",
	notPlayed: "Nicht gespielt.",
	winner: (who) => `${who} gewinnt.`,
	reasons: {
		1: () => "Die Partie wurde zu Ende gespielt.",
		2: (who, me) => (me ? "Du hast aufgegeben." : `${who ?? "Jemand"} hat aufgegeben.`),
		3: (who, me) =>
			me
				? "Deine Zeit ist abgelaufen."
				: who
					? `${who} hat keine Zeit mehr.`
					: "Die Zeit beider Seiten ist abgelaufen.",
		4: (who, me) =>
			me
				? "Du hast zu lange keinen eigenen Zug gemacht."
				: `${who ?? "Keine Seite"} hat zu lange ${who ? "keinen" : "einen"} eigenen Zug gemacht.`,
		5: (who, me) =>
			me
				? "Du hast zu lange nicht gezogen."
				: who
					? `${who} hat zu lange nicht gezogen.`
					: "Zu lange hat niemand gezogen.",
		6: () => "Die Revanche kam nicht zustande, und es wurden keine Karten gegeben.",
	},
	log: "Was geschah",
	logEmpty: "Noch nichts.",
	parts: {
		round: (n) => `Runde ${n}`,
		half: (n) => `${n}. Halbzeit`,
		turn: (n) => `Zug ${n}`,
	},
	hint: "Tipp",
	menu: "Mehr",
	yourHand: "Deine Hand",
	handOf: (n) => `${cards(n)} auf der Hand`,
	deckOf: (n) => `${cards(n)} im Stapel`,
	cards,
	timeLeft: "Restzeit",
	faceDown: "Verdeckte Karte",
	empty: "leer",
	keyboard:
		"Tasten: Tab und Pfeile bewegen, Enter wählt. Wo eine Karte die ganze Wahl ist, spielt ein zweites Enter sie, sonst nimmt es sie zurück. Die Rücktaste nimmt zurück, H bittet um einen Tipp.",
	toMe: (text) =>
		text.replace(/^(hat|wurde|musste|darf)\b/, (verb) => (verb === "hat" ? "hast" : `${verb}st`)),
	joined: "hat Platz genommen",
	decided: "hat entschieden",
	expired: "hat die Zeit überschritten",
	ended: "Die Partie ist beendet.",
	tokenReplaced: "hat das Gerät gewechselt",
	entropy: "hat mitgemischt",
	declined: "hat die Partie abgelehnt",
	hintThinking: "Der Computer probiert aus …",
	hintAsk: "Tipp zeigen",
	hintStop: "Anhalten",
	hintOff: "Tipp ausblenden",
	hintNotNow: "Tipps gibt es, wenn du dran bist.",
	hintsForbidden:
		"Während dieser Partie gibt es keine Tipps: So wurde es in der Einladung vereinbart.",
	hintsAfterwards:
		"Nach der Partie zeigt das Nachspielen, wie gut deine Aussichten bei jeder Entscheidung waren.",
	hintOnly: (move) => `„${move}“ ist dein einziger Zug.`,
	hintAlways: (move) => `Bester Zug: „${move}“.`,
	hintMixed: (move, tenths, other) => `In ${tenths} von 10 Fällen „${move}“, sonst „${other}“.`,
	hintMixedMore: (move, tenths, other, tenthsOther) =>
		`In ${tenths} von 10 Fällen „${move}“, in ${tenthsOther} „${other}“, sonst ein anderer Zug der Liste.`,
	hintWorth: (points) => `Das ist etwa ${points} wert.`,
	hintWorthBoth: (points) => `Beide sind etwa ${points} wert.`,
	hintWorthEach: (points, other) =>
		`Der erste Zug ist etwa ${points} wert, der zweite etwa ${other}.`,
	points: (score) => {
		const tenths = Math.round(10 * score);
		if (tenths === 5) return "einen halben Punkt";
		if (tenths === 10) return "einen ganzen Punkt";
		return tenths === 0 ? "nichts" : `0,${tenths} Punkte`;
	},
	hintOthers: "Andere Züge sind genauso gut.",
	hintPoints: "Ein Sieg zählt einen Punkt, ein Remis einen halben.",
	hintMixing: "Wenn du abwechselst, bleibst du unberechenbar.",
	hintMove: "Zug",
	hintShare: "Wie oft",
	hintValue: "Punkte",
	hintTied: "(genauso gut)",
	hintFigures: "Zahlen der Suche",
	hintExpected: "Zu erwartende Punkte",
	hintSearched: (ways, deals) =>
		`Der Computer hat die Partie ${ways}-mal zu Ende gespielt, mit ${deals} Verteilungen der verdeckten Karten, die zu dem passen, was du gesehen hast.`,
	hintProven: "Es ist so wenig übrig, dass der Computer es genau ausgerechnet hat.",
	hintLine: "Wie es weitergehen könnte",
	hintHidden: "Was dein Gegenüber haben könnte",
	hintHiddenNote: (n) =>
		`Wie wahrscheinlich jede Karte dort ist, geschätzt aus ${n} Verteilungen der verdeckten Karten, die zu dem passen, was du gesehen hast.`,
	hintScoreGraph: "Zu erwartende Punkte im Lauf der Suche",
	hintWin: "Sieg",
	hintDraw: "Remis",
	hintLoss: "Niederlage",
	places: {
		opponent_hand: "Hand",
		opponent_pile: "Stapel",
		set_aside: "Beiseitegelegt",
		stock: "Stapel",
	},
	replayNoBoard:
		"Das Spielfeld dieses Spiels kann diese Seite nicht wieder aufbauen. Die Liste zeigt, was geschah, auch die verdeckten Karten.",
	replayStep: (n, all) => `Schritt ${n} von ${all}`,
	replayFirst: "Erster Schritt",
	replayBack: "Ein Schritt zurück",
	replayForward: "Ein Schritt vor",
	replayLast: "Letzter Schritt",
	replayNotOver: "Nachspielen kannst du die Partie, wenn sie beendet ist.",
	verify: "Das Mischen prüfen",
	verifyText:
		"Vor der ersten Karte hat der Server einen Fingerabdruck (Hash) der geheimen Zahl veröffentlicht, mit der er gemischt hat. Jetzt ist das Geheimnis bekannt, und dein Browser kann den Fingerabdruck prüfen und noch einmal mischen.",
	verifyHash: "Das Geheimnis passt zum Hash, den dieser Browser behalten hat",
	verifyHashRecord: "Das Geheimnis passt zum Hash im Bericht",
	verifyHashWrong: "Das Geheimnis passt NICHT zum Hash",
	verifyDeal: (n) => `Das Austeilen, nachgerechnet: alle ${n} Plätze sind gleich`,
	verifyDealWrong: "Das Austeilen weicht vom Bericht ab",
	scoreGraph: "Deine Aussichten im Lauf der Partie",
	// Lektionen, und Regeln mit Bildern
	learn: "Lernen im Spiel",
	learned: "gelernt",
	lesson: "Lektion",
	lessonWaits: "Spiel weiter. Die nächste Erklärung kommt, wenn sie wichtig wird.",
	lessonCutShort:
		"Die Partie endete, bevor ihre Regeln sie entschieden, und damit auch die Lektion. In der Lobby kannst du sie neu beginnen.",
	gotIt: "Verstanden",
	skipLesson: "Lektion überspringen",
	howCardsRead: "So liest du eine Karte",
	kindCards: (kind, n) => `${kind} (${cards(n)})`,
};
