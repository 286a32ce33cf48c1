import { type DescMessage, type JsonValue, type MessageShape, toJson } from '@bufbuild/protobuf';

/** An answer for programs: protobuf's JSON with all fields. 64-bit numbers are strings. */
export function json<S extends DescMessage>(schema: S, message: MessageShape<S>): JsonValue {
  return toJson(schema, message, { alwaysEmitImplicit: true });
}

/** Milliseconds since 1970 as RFC 3339; empty for 0 (not set). */
export function time(ms: bigint): string {
  return ms === 0n ? '' : new Date(Number(ms)).toISOString();
}

/** Lower-case name of an enum's value; empty for a value of a newer service. */
export function word(values: Readonly<Record<string, string | number>>, value: number): string {
  return (
    Object.entries(values)
      .find(([, one]) => one === value)?.[0]
      .toLowerCase() ?? ''
  );
}
