// An address as a QR code, for a phone that is held before the screen.
import { useEffect, useState } from "preact/hooks";
import { t } from "../i18n";

export function QrCode({ of }: { of: string }) {
	const [drawn, setDrawn] = useState<{ size: number; path: string }>();
	useEffect(() => {
		let current = true;
		void import("uqr").then(({ encode }) => {
			const { data, size } = encode(of, { border: 2 });
			const path = data
				.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : "")))
				.join("");
			if (current) setDrawn({ size, path });
		});
		return () => {
			current = false;
		};
	}, [of]);
	if (!drawn) return null;
	return (
		<svg
			class="qr"
			viewBox={`0 0 ${drawn.size} ${drawn.size}`}
			shape-rendering="crispEdges"
			role="img"
			aria-label={t().qrCode}
		>
			<rect width={drawn.size} height={drawn.size} fill="#fff" />
			<path d={drawn.path} fill="#000" />
		</svg>
	);
}
