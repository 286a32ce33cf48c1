import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Behaviour, normalBehaviour } from './behaviour.ts';
import type { Headset } from './headset.ts';

/**
 * Something to do with a headset (with all of them when `deviceId` is absent). `set` changes the
 * behaviour (behaviour.ts); `report` sends a state change in protobuf's JSON form.
 */
export type Action = { readonly deviceId?: string; readonly afterMs?: number } & (
  | { readonly action: 'connect' | 'disconnect' }
  | { readonly action: 'away'; readonly ms: number }
  | { readonly action: 'set'; readonly behaviour: Partial<Behaviour> }
  | { readonly action: 'report'; readonly stateChange: Readonly<Record<string, unknown>> }
  | { readonly action: 'die' }
);

/** Does it; answers to how many headsets. Throws an Error that says what is wrong with the action. */
export function apply(headsets: ReadonlyMap<string, Headset>, action: Action): number {
  const one = action.deviceId === undefined ? undefined : headsets.get(action.deviceId);
  if (action.deviceId !== undefined && !one) throw new Error(`no headset ${action.deviceId} here`);
  const targets = one ? [one] : [...headsets.values()];
  for (const headset of targets) applyToOne(headset, action);
  return targets.length;
}

function applyToOne(headset: Headset, action: Action): void {
  switch (action.action) {
    case 'connect':
      headset.connect();
      break;
    case 'disconnect':
      headset.disconnect();
      break;
    case 'away':
      if (!(action.ms >= 0)) throw new Error('away needs ms');
      headset.stayAway(action.ms);
      break;
    case 'set':
      for (const [key, value] of Object.entries(action.behaviour)) {
        const known = (normalBehaviour as unknown as Record<string, unknown>)[key];
        if (known === undefined) throw new Error(`no behaviour is named ${key}`);
        if (typeof known !== typeof value) throw new Error(`${key} must be a ${typeof known}`);
      }
      Object.assign(headset.behaviour, action.behaviour);
      break;
    case 'report':
      headset.report({ case: 'stateChange', value: action.stateChange as object });
      break;
    case 'die':
      process.kill(process.pid, 'SIGKILL');
      break;
    default:
      throw new Error(`unknown action ${JSON.stringify((action as { action: unknown }).action)}`);
  }
}

/** Runs a list of actions in order, each `afterMs` after the one before. */
export async function runScript(
  headsets: ReadonlyMap<string, Headset>,
  actions: readonly Action[],
): Promise<void> {
  for (const action of actions) {
    if (action.afterMs) await new Promise((resolve) => setTimeout(resolve, action.afterMs));
    apply(headsets, action);
  }
}

/** What a headset is like now, for tests and people. */
export function describe(headset: Headset): Record<string, unknown> {
  return {
    deviceId: headset.deviceId,
    sessionEpoch: headset.sessionEpoch,
    activationEpoch: headset.journal.activationEpoch,
    held: [...headset.journal.held].map(([transactionId, { state }]) => ({ transactionId, state })),
    unacknowledgedReports: headset.journal.reports.size,
    lastReportId: headset.journal.lastReportId,
    effects: headset.effects.count,
    behaviour: headset.behaviour,
  };
}

/**
 * A control port on the loopback address: `POST /actions` with one action, `GET /headsets`. Answers
 * its address and how to close it.
 */
export async function listenForControl(
  headsets: ReadonlyMap<string, Headset>,
  port: number,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const answer = (code: number, body: unknown) => {
      response.writeHead(code, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
    };
    if (request.method === 'GET' && request.url === '/headsets') {
      answer(200, [...headsets.values()].map(describe));
    } else if (request.method === 'POST' && request.url === '/actions') {
      readAll(request).then(
        (text) => {
          try {
            answer(200, { applied: apply(headsets, JSON.parse(text)) });
          } catch (error) {
            answer(400, { message: (error as Error).message });
          }
        },
        () => response.destroy(),
      );
    } else {
      answer(404, { message: 'GET /headsets or POST /actions' });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
