/** Bounds of what headsets say (protocol page, "Limits"); characters (UTF-16 code units). */
export const textBounds = { message: 1024, name: 128 } as const;

/** Devices in one notification. */
export const maxDevices = 256;

/** Before this no headset was made: a clock that says so was never set. Milliseconds since 1970. */
const firstBelievedMs = 31_536_000_000;

/** A text of at most `max` characters; a character is never cut in two. */
export function bounded(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  const cutsPair = last >= 0xd800 && last < 0xdc00;
  return text.slice(0, cutsPair ? max - 1 : max);
}

/** When something happened by a headset's clock, held to the time of arrival; milliseconds since 1970. */
export function happenedAt(occurredAtMs: number, receivedAtMs: number): number {
  return Math.min(occurredAtMs >= firstBelievedMs ? occurredAtMs : receivedAtMs, receivedAtMs);
}
