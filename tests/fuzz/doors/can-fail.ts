import type { Mutation } from '../../faults/inside/environment.ts';
import { doors } from './all.ts';
import { type Options, run } from './run.ts';

/** A safeguard that is left out, and what a door must find then. */
interface Sabotage extends Mutation {
  readonly name: string;
  readonly door: string;
  readonly finds: RegExp;
}

export const sabotages: readonly Sabotage[] = [
  {
    name: 'tokens without their signature',
    door: 'tokens',
    file: 'gateway/src/tokens/verifier.ts',
    from: 'jwt.verify(token, key, {',
    to: 'jwt.decode(token) ?? ({',
    finds: /was answered with 20[01]/,
  },
  {
    name: 'bodies that are kept',
    door: 'json',
    file: 'gateway/src/http/json.ts',
    from: 'export function parseText(text: string): JsonText {',
    to: 'const kept: Buffer[] = []; export function parseText(text: string): JsonText { kept.push(Buffer.alloc(1e6));',
    finds: /heap memory grew/,
  },
  {
    name: 'messages that cannot be read',
    door: 'messages',
    file: 'services/device-link/src/link/wire.ts',
    from: "return new UnreadableMessage('a message is not a ConnectRequest');",
    to: "throw new Error('a message is not a ConnectRequest');",
    finds: /the stream ended with INTERNAL/,
  },
  {
    name: "a token in the library's own words",
    door: 'stream',
    file: 'services/kit/src/rpc/grpc.ts',
    from: "if (!text.startsWith('Failed to add metadata entry')) logger.warn(",
    to: 'logger.error(',
    finds: /Failed to add metadata entry/,
  },
  {
    name: 'uploads of another type',
    door: 'urls',
    file: 'services/updates/src/storage/local-server.ts',
    from: "if (request.headers['content-type'] !== contentType) {",
    to: 'if (sizeBytes < 0) {',
    finds: /accepted with (?:200|422)/,
  },
  {
    name: "webhooks without the endpoint's secret",
    door: 'webhooks',
    file: 'services/communication/src/webhook/receive.ts',
    from: 'return right && known !== undefined;',
    to: 'return known !== undefined;',
    finds: /accepted with another secret/,
  },
];

/** Runs each door on a platform without a safeguard; returns the names of those that found nothing. */
export async function showThatItCanFail(options: Omit<Options, 'doors' | 'mutations'>): Promise<string[]> {
  const blind: string[] = [];
  for (const { name, door, finds, ...mutation } of sabotages) {
    const failures = await run({
      ...options,
      doors: doors.filter((one) => one.name === door),
      mutations: [mutation],
      say: () => {},
    });
    const found = failures.some((failure) => finds.test(failure));
    options.say(`${found ? 'found' : 'NOT FOUND'}: ${name} (${door})`);
    if (!found) blind.push(name);
  }
  return blind;
}
