import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { type ManagedProcess, manageProcess } from '@headset-cloud/demo/stack/process.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';

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

/** All printed lines, including standard error; throws if a line is not JSON. */
const lines = () =>
  command
    .log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

test('an invalid configuration ends it with 2 and one log line that names every invalid key', async () => {
  start({ MONGODB_URI: 'http://user:hidden@127.0.0.1', KAFKA_PARTITIONS: '0', LOG_LEVEL: 'loud' });
  expect(await command.exited).toBe('2');
  const problems = Object.entries({
    LOG_LEVEL: '"loud" is not one of',
    MONGODB_URI: 'the value is not a mongodb:// address',
    KAFKA_BROKERS: 'is missing',
    KAFKA_PARTITIONS: '"0" is not a whole number',
  }).map(([setting, reason]) => ({ setting, reason: expect.stringContaining(reason) }));
  const [line, ...more] = lines();
  expect(more).toEqual([]);
  expect(line).toMatchObject({
    level: 'fatal',
    service: 'prepare',
    time: expect.any(String),
    message: 'wrong configuration',
  });
  expect(line.problems).toHaveLength(problems.length);
  expect(line.problems).toEqual(expect.arrayContaining(problems));
  expect(command.log()).not.toContain('hidden');
});

test('an address that the driver cannot parse is an invalid configuration, and its password is not shown', async () => {
  start({ MONGODB_URI: 'mongodb://user:hidden', KAFKA_BROKERS: '127.0.0.1:1' });
  expect(await command.exited).toBe('2');
  expect(lines().at(-1)).toMatchObject({
    level: 'fatal',
    message: 'wrong configuration',
    problems: [{ setting: 'MONGODB_URI', reason: expect.stringContaining('the driver can read') }],
  });
  expect(command.log()).not.toContain('hidden');
});

test('it waits for unavailable stores and logs this, and SIGTERM ends it with a failure status', async () => {
  const [mongo, kafka] = await freePorts(2);
  start({ MONGODB_URI: `mongodb://127.0.0.1:${mongo}`, KAFKA_BROKERS: `127.0.0.1:${kafka}` });
  const waits = () => command.log().match(/"waiting for [^"]*/g) ?? [];
  await waitFor('both waits', () => waits().length >= 2);
  expect(
    waits()
      .map((line) => line.slice(1))
      .sort(),
  ).toEqual(['waiting for the steps of devices, retrying', 'waiting for the topics, retrying']);
  command.signal('SIGTERM');
  expect(await command.exited).toBe('143');
  expect(command.log()).toContain('stopped before everything was prepared');
});
