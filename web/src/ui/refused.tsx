// Why something that was asked for did not happen, if it did not.
export const Refused = ({ says }: { says: string | undefined | false }) =>
	says ? (
		<p class="refusal" role="alert">
			{says}
		</p>
	) : null;
