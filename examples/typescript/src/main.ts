// Plays a whole match at a Croupier server by its hints, against a bot.
import { parseArgs } from "node:util";
import {
	type Access,
	authorize,
	BotStrength,
	CatalogService,
	type Client,
	createClient,
	describe,
	EndReason,
	explain,
	type Game,
	HintService,
	type MatchAction,
	MatchService,
	persistent,
	type View,
	watchMatch,
} from "@croupier/client";
import { connect } from "@croupier/client/node";

const HELP = `Plays a whole match at a Croupier server by its hints, against a bot.

  --server HOST:PORT  the server (default: 127.0.0.1:50051)
  --tls               use TLS, and trust the authorities that Node knows
  --ca FILE           use TLS, and trust the authorities in this PEM file
  --name NAME         the name that the other players see
  --join INVITATION   play in the match of this invitation, which is of --game and allows hints
  --game NAME         what to play (default: skystones)
  --seed N            make the match reproducible (for a server with --allow-seeds)
  --iterations N      how long to search for each hint (default: 200)
`;

interface Options {
	name?: string;
	join?: string;
	seed?: bigint;
	iterations: number;
}

/** The services of one server. */
class Player {
	readonly catalog: Client<typeof CatalogService>;
	readonly matches: Client<typeof MatchService>;
	readonly hints: Client<typeof HintService>;
	retries = 0; // How often a call was repeated,
	resumes = 0; // and how often a stream was resumed.

	// --8<-- [start:connect]
	constructor(server: string, security: { tls?: boolean; ca?: string }) {
		// --8<-- [start:retry]
		const transport = persistent(connect(server, security), {
			onRetry: () => {
				this.retries++;
			},
		});
		// --8<-- [end:retry]
		this.catalog = createClient(CatalogService, transport);
		this.matches = createClient(MatchService, transport);
		this.hints = createClient(HintService, transport);
	}
	// --8<-- [end:connect]

	// --8<-- [start:create]
	/** Creates a match with the default ruleset: this client against a bot. */
	async create(game: Game, options: Options): Promise<Access> {
		const created = await this.matches.createMatch({
			ruleset: game.defaultRuleset,
			seats: [
				{ occupant: { case: "open", value: {} }, displayName: options.name },
				{ occupant: { case: "bot", value: { strength: BotStrength.CASUAL } } },
			],
			seed: options.seed,
			requestId: crypto.randomUUID(), // A repeated call then creates no second match.
		});
		// There is one token for each open seat, and only seat 0 is open.
		return { name: created.name, token: created.seatTokens[0]!.token };
	}
	// --8<-- [end:create]

	/** Takes the seat that an invitation is for. */
	async join(invitation: string, options: Options): Promise<Access> {
		const joined = await this.matches.joinMatch({
			invitation,
			displayName: options.name,
			requestId: crypto.randomUUID(), // A repeated call then gets the same token.
		});
		return { name: joined.name, token: joined.seatToken!.token };
	}

	// --8<-- [start:hint]
	/** Asks what to play; the server searches with what the seat knows. */
	async hint(access: Access, options: Options) {
		const response = await this.hints.suggestAction(
			{
				search: {
					position: { case: "matchName", value: access.name },
					effort: { case: "limits", value: { iterations: options.iterations } },
					seed: options.seed,
				},
			},
			{ headers: authorize(access) },
		);
		return response.hint!;
	}
	// --8<-- [end:hint]

	// --8<-- [start:submit]
	/** Plays an action as the answer to a view; returns the view after it. */
	async submit(access: Access, view: View, action: MatchAction): Promise<View> {
		try {
			const response = await this.matches.submitAction(
				{
					name: access.name,
					expectedVersion: view.version,
					action,
					requestId: crypto.randomUUID(), // A repeated call then counts once.
				},
				{ headers: authorize(access) },
			);
			return response.view!;
		} catch (error) {
			if (explain(error).reason !== "STALE_VERSION") throw error;
			return view; // The match has gone on. The stream shows the newer view.
		}
	}
	// --8<-- [end:submit]

	/** Plays a match of a game, and prints what it came to as one line of JSON. */
	async play(name: string, options: Options) {
		const game = (await this.catalog.getGame({ name: `games/${name}` })).game!;
		const access = options.join
			? await this.join(options.join, options)
			: await this.create(game, options);

		let decisions = 0;
		let last: View | undefined;
		// --8<-- [start:watch]
		let newest = 0n; // The version of the newest view that an answer has shown.
		const onRetry = () => {
			this.resumes++;
		};
		const watch = { onRetry, heartbeatMs: 5_000 };
		for await (const { view } of watchMatch(this.matches, access, watch)) {
			last = view;
			// No view: the next version follows at once. No actions: it is the other seat's turn. An old
			// version: from before this seat's last decision.
			if (!view?.legalActions.length || view.version < newest) continue;
			const hint = await this.hint(access, options);
			newest = (await this.submit(access, view, hint.action!)).version;
			decisions++;
			console.log(`decision ${decisions} at version ${view.version}`);
		}
		// --8<-- [end:watch]

		const result = last!.result!;
		const outcome = {
			game: name,
			scores: result.scores,
			reason: EndReason[result.reason],
			decisions,
			retries: this.retries,
			resumes: this.resumes,
		};
		console.log(JSON.stringify(outcome));
	}
}

async function main() {
	const { values } = parseArgs({
		options: {
			help: { type: "boolean" },
			server: { type: "string", default: "127.0.0.1:50051" },
			tls: { type: "boolean" },
			ca: { type: "string" },
			name: { type: "string" },
			join: { type: "string" },
			game: { type: "string", default: "skystones" },
			seed: { type: "string" },
			iterations: { type: "string", default: "200" },
		},
	});
	if (values.help) {
		console.log(HELP);
		return;
	}
	const player = new Player(values.server, values);
	const options = {
		name: values.name,
		join: values.join,
		seed: values.seed === undefined ? undefined : BigInt(values.seed),
		iterations: Number(values.iterations),
	};
	await player.play(values.game, options);
}

// --8<-- [start:errors]
main().catch((error) => {
	console.error(describe(error)); // The status, and on further lines what the server says besides.
	process.exitCode = 1;
});
// --8<-- [end:errors]
