import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { type ManagedProcess, manageProcess } from '@headset-cloud/demo/stack/process.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';

let folder: string;
let command: ManagedProcess;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'prepare-'));
});
afterEach(async () => {
  await command.kill();
  rmSync(folder, { recursive: true, force: true });
});

function start(env: Record<string, string>): void {
  const logFile = join(folder, 'prepare.log');
  command = manageProcess({ name: 'prepare', entry: 'services/prepare/src/main.ts', env, logFile });
  command.start();
}

test('a wrong configuration ends it with 2 and names every bad key', async () => {
  start({ MONGODB_URI: 'http://127.0.0.1', KAFKA_PARTITIONS: '0' });
  expect(await command.exited).toBe('2');
  for (const key of ['MONGODB_URI', 'KAFKA_BROKERS', 'KAFKA_PARTITIONS'])
    expect(command.log()).toContain(key);
});

test('it waits for stores that are away and says so, and SIGTERM ends it, not as a success', async () => {
  const [mongo, kafka] = await freePorts(2);
  start({ MONGODB_URI: `mongodb://127.0.0.1:${mongo}`, KAFKA_BROKERS: `127.0.0.1:${kafka}` });
  const waits = () => command.log().match(/"the start waits for [^"]*/g) ?? [];
  await waitFor('both waits', () => waits().length >= 2);
  expect(
    waits()
      .map((line) => line.slice(1))
      .sort(),
  ).toEqual([
    'the start waits for the steps of devices; it is tried again',
    'the start waits for the topics; it is tried again',
  ]);
  command.signal('SIGTERM');
  expect(await command.exited).toBe('143');
  expect(command.log()).toContain('told to stop before everything was prepared');
});
