import type { Mutation } from '../../faults/inside/environment.ts';
import { listeners } from './all.ts';
import { type Options, run } from './run.ts';

/** A safeguard to remove from the source, and the failure that a listener must then report. */
interface RemovedSafeguard extends Mutation {
  readonly name: string;
  readonly listener: string;
  readonly finds: RegExp;
}

export const removedSafeguards: readonly RemovedSafeguard[] = [
  {
    name: 'tokens without their signature',
    listener: 'tokens',
    file: 'gateway/src/tokens/verifier.ts',
    from: 'jwt.verify(token, key, {',
    to: 'jwt.decode(token) ?? ({',
    finds: /was answered with 20[01]/,
  },
  {
    name: 'a memory leak per body',
    listener: 'json',
    file: 'gateway/src/http/json.ts',
    from: 'export function parseText(text: string): JsonText {',
    to: 'const kept: Buffer[] = []; export function parseText(text: string): JsonText { kept.push(Buffer.alloc(1e6));',
    finds: /heap memory grew/,
  },
  {
    name: 'unreadable messages',
    listener: 'messages',
    file: 'services/device-link/src/transport/wire.ts',
    from: "return new UnreadableMessage('a message is not a ConnectRequest');",
    to: "throw new Error('a message is not a ConnectRequest');",
    finds: /the stream ended with INTERNAL/,
  },
  {
    name: "a token in the library's own words",
    listener: 'stream',
    file: 'services/kit/rpc/src/grpc.ts',
    from: "if (!text.startsWith('Failed to add metadata entry'))\n      logger.warn(",
    to: 'logger.error(',
    finds: /Failed to add metadata entry/,
  },
  {
    name: 'uploads of another type',
    listener: 'urls',
    file: 'services/updates/src/storage/local-server.ts',
    from: "if (request.headers['content-type'] !== contentType) {",
    to: 'if (sizeBytes < 0) {',
    finds: /accepted with (?:200|422)/,
  },
  {
    name: "webhooks without the endpoint's secret",
    listener: 'webhooks',
    file: 'services/communication/src/webhook/receive.ts',
    from: 'return right && known !== undefined;',
    to: 'return known !== undefined;',
    finds: /accepted with another secret/,
  },
];

/** Runs each listener on a platform without a safeguard. Returns the names of undetected removals. */
export async function undetectedRemovals(
  options: Omit<Options, 'listeners' | 'mutations'>,
): Promise<string[]> {
  const undetected: string[] = [];
  for (const { name, listener, finds, ...mutation } of removedSafeguards) {
    const failures = await run({
      ...options,
      listeners: listeners.filter((one) => one.name === listener),
      mutations: [mutation],
      say: () => {},
    });
    const found = failures.some((failure) => finds.test(failure));
    options.say(`${found ? 'found' : 'NOT FOUND'}: ${name} (${listener})`);
    if (!found) undetected.push(name);
  }
  return undetected;
}
