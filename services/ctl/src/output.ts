import { type DescMessage, type MessageShape, toJson } from '@bufbuild/protobuf';

/** An answer for programs: protobuf's JSON with all fields. 64-bit numbers are strings. */
export function json<S extends DescMessage>(schema: S, message: MessageShape<S>): string {
  return `${JSON.stringify(toJson(schema, message, { alwaysEmitImplicit: true }), null, 2)}\n`;
}

/** Milliseconds since 1970 as RFC 3339; empty for 0 (not set). */
export function time(ms: bigint): string {
  return ms === 0n ? '' : new Date(Number(ms)).toISOString();
}
