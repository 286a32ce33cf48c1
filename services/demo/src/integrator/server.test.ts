import { createHmac, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { type IntegratorServer, startIntegrator } from './server.ts';

const key = 'a key';
let folder: string;
let server: IntegratorServer;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'integrator-'));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function send(id: string = randomUUID(), body = '{"a":1}', signedWith = key): Promise<number> {
  const timestamp = Math.floor(Date.now() / 1000);
  const signed = createHmac('sha256', signedWith).update(`${id}.${timestamp}.`).update(body).digest('base64');
  const answer = await fetch(server.url, {
    method: 'POST',
    body,
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${signed}`,
      'x-tlpf-notification-key': createHmac('sha256', signedWith).update(body).digest('hex'),
    },
  });
  await answer.arrayBuffer();
  return answer.status;
}

it('rejects a callback that could not be stored, and accepts its next attempt as new', async () => {
  const logFile = join(folder, 'log');
  server = await startIntegrator({ keys: [key], logFile });
  const handle = await open(logFile);
  const disk = jest.spyOn(Object.getPrototypeOf(handle), 'appendFile');
  await handle.close();
  disk.mockRejectedValueOnce(new Error('ENOSPC') as never);
  expect(await send('one')).toBe(500);
  expect(server.received).toEqual([]);
  expect(await send('one')).toBe(204);
  expect(server.received.map(({ webhookId, duplicate }) => [webhookId, duplicate])).toEqual([['one', false]]);
  expect(readFileSync(logFile, 'utf8').trim().split('\n')).toHaveLength(1);
});

it('accepts one of two concurrent attempts of a callback, and marks the other as duplicate', async () => {
  server = await startIntegrator({ keys: [key], logFile: join(folder, 'log') });
  expect(await Promise.all([send('one'), send('one')])).toEqual([204, 204]);
  expect(server.arrivals.map(({ duplicate }) => duplicate)).toEqual([false, true]);
  expect(server.received).toHaveLength(1);
});

it('keeps only the newest arrivals in memory', async () => {
  server = await startIntegrator({ keys: [key], keep: 3 });
  for (const id of ['1', '2', '3', '4', '5']) await send(id);
  const ids = (of: IntegratorServer['arrivals']) => of.map(({ webhookId }) => webhookId);
  expect([ids(server.arrivals), ids(server.received)]).toEqual([
    ['3', '4', '5'],
    ['3', '4', '5'],
  ]);
  expect(await send('3')).toBe(204);
  expect(ids(server.received)).toEqual(['3', '4', '5']);
});

it('keeps added keys when the key file is read again, and drops keys that left the file', async () => {
  const keyFile = join(folder, 'keys');
  writeFileSync(keyFile, 'first of file\n');
  server = await startIntegrator({ keys: [key], keyFile });
  server.keys.push('added');
  const answers = async () => {
    const statuses: number[] = [];
    for (const one of [key, 'added', 'first of file', 'second of file']) {
      statuses.push(await send(randomUUID(), '{}', one));
    }
    return statuses;
  };
  expect(await answers()).toEqual([204, 204, 204, 401]);
  writeFileSync(keyFile, 'second of file\n');
  expect(await send(randomUUID(), '{}', 'second of file')).toBe(204);
  expect(await answers()).toEqual([204, 204, 401, 204]);
});

it('names an IPv6 address in brackets', async () => {
  server = await startIntegrator({ keys: [key], host: '::1' });
  expect(new URL(server.url).hostname).toBe('[::1]');
  expect(await send()).toBe(204);
});
