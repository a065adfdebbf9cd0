// What stands in the place of a screen: that it is loading, or why it cannot be shown.
import type { ComponentChildren } from "preact";
import { t } from "../i18n";
import { linkTo } from "../state/router";

export const Loading = ({ says }: { says?: string }) => (
	<p class="notice" role="status">
		{says ?? t().loading}
	</p>
);

/** With a way to another place: to the lobby, unless it says where to. */
export const Notice = (props: {
	says: string;
	id?: string;
	link?: string;
	label?: string;
	/** Other things to do. */
	children?: ComponentChildren;
}) => (
	<div class="notice" data-testid={props.id}>
		<p role="alert">{props.says}</p>
		<div class="buttons">
			{props.children}
			<a class="button" href={props.link ?? linkTo.lobby}>
				{props.label ?? t().back}
			</a>
		</div>
	</div>
);
