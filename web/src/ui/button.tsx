// A button that submits no form.
import type { ComponentProps } from "preact";

export function Button(props: ComponentProps<"button">) {
	return <button type="button" {...props} />;
}
