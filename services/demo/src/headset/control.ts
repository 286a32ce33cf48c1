import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { apply } from './actions.ts';
import type { Headset } from './headset.ts';

/** The current state of a headset, for tests and users. */
export function describe(headset: Headset): Record<string, unknown> {
  return {
    deviceId: headset.deviceId,
    sessionEpoch: headset.sessionEpoch,
    activationEpoch: headset.journal.activationEpoch,
    applicationId: headset.journal.activation.applicationId,
    held: [...headset.journal.held].map(([transactionId, { state }]) => ({ transactionId, state })),
    unacknowledgedReports: headset.journal.reports.size,
    lastReportId: headset.journal.lastReportId,
    unfinishedUploads: headset.journal.uploads.size,
    effects: headset.effects.count,
    behaviour: headset.behaviour,
  };
}

/**
 * Starts an HTTP server on the loopback address: `POST /actions` with one action, `GET /headsets`, and
 * `GET /headsets/IMEI`, which also returns the device's content. Returns the server's URL and a function that closes
 * it.
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
    } else if (request.method === 'GET' && request.url?.startsWith('/headsets/')) {
      const headset = headsets.get(request.url.slice('/headsets/'.length));
      if (headset) answer(200, { ...describe(headset), content: headset.device.state });
      else answer(404, { message: 'no such headset here' });
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
