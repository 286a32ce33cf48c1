import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { callbacksIn } from '@headset-cloud/demo/stack/callbacks.ts';
import { isFree } from '@headset-cloud/demo/stack/ports.ts';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { findProgram } from '@headset-cloud/demo/stack/programs.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ctlWith } from './ctl.ts';
import { describeOnStack, stack } from './harness.ts';

const ready = 'Ctrl-C stops everything';
/** First of seven ports, with another port 1020 above it; two such ranges are used. */
const [port, otherPort] = stack.kind === 'real' ? [13_400, 13_500] : [13_600, 13_700];

interface Run {
  readonly output: string;
  /** Exit code; a signal's name if a signal ended the process. */
  readonly ended: Promise<number | string>;
  /** Acts as Ctrl-C in a terminal: on all processes of the group. */
  interrupt(): void;
  /** True while any started process is alive. */
  readonly alive: boolean;
}

const runs: ChildProcess[] = [];

/** Runs `make up`, as in the README, without another install, whatever the age of the lock file. */
function up(variables: Record<string, string>, through: readonly string[] = []): Run {
  const words = Object.entries({ STACK: stack.kind, PORT: String(port), ...variables });
  const command = [
    ...through,
    'make',
    '-o',
    'node_modules/.installed',
    'up',
    ...words.map((w) => w.join('=')),
  ];
  return start(command, root);
}

function start(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv = process.env): Run {
  const { MAKEFLAGS: _, MAKELEVEL: __, MFLAGS: ___, ...clean } = env;
  const child = spawn(command[0] as string, command.slice(1), {
    ...{ cwd, env: clean, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  runs.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data: Buffer) => {
      output += data.toString();
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => signal ?? code);
  return {
    get output() {
      return output;
    },
    ended,
    interrupt: () => void process.kill(-(child.pid ?? 0), 'SIGINT'),
    get alive() {
      return isAlive(child);
    },
  };
}

function isAlive({ pid }: ChildProcess): boolean {
  try {
    return process.kill(-(pid ?? 0), 0);
  } catch {
    return false;
  }
}

async function untilReady(run: Run): Promise<void> {
  const gone = run.ended.then((code) => {
    throw new Error(`make up ended with ${code}:\n${run.output}`);
  });
  const seen = waitFor('make up to be ready', () => run.output.includes(ready), { timeoutMs: 120_000 });
  await Promise.race([seen, gone]).catch((error: Error) => {
    throw new Error(`${error.message}\n${run.output}`);
  });
}

/** Sends Ctrl-C, and checks that nothing is left. */
async function stop(run: Run): Promise<void> {
  run.interrupt();
  await run.ended;
  await waitFor('the end of every process of make up', () => !run.alive, { timeoutMs: 5000 });
  expect(run.output).toMatch(/\nStopping…\n/);
}

/** The extras of a command that a headset printed. */
function extrasIn(printed: {
  received?: { offer?: { operation: { command?: { extrasJson: string } } } };
}): string | undefined {
  return printed.received?.offer?.operation.command?.extrasJson;
}

/** Runs a script in the user's shell. */
async function shell(script: string): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: root });
  return stdout;
}

describeOnStack('make up', () => {
  let folder: string;
  let dataDir: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-up-'));
    dataDir = join(folder, 'data');
  });
  afterAll(async () => {
    for (const child of runs) if (isAlive(child)) process.kill(-(child.pid ?? 0), 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const operators = () => ({ CTL_ADDRESSES_FILE: join(dataDir, 'addresses.json') });
  const demo = () => JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'));
  /** A line of "Try next", as a user pastes it. */
  const line = (run: Run, start: string): string => {
    const found = run.output.split('\n').find((l) => l.trim().startsWith(start));
    if (!found) throw new Error(`no line begins with ${start}:\n${run.output}`);
    return found;
  };

  it('shows an activation and a command up to their verified callbacks, and the suggested next commands work', async () => {
    const first = up({ DATA_DIR: dataDir });
    await untilReady(first);
    expect(first.output).toMatch(/activation: its signed callback arrived and was verified/);
    expect(first.output).toMatch(/command: its signed callback arrived and was verified/);
    expect(demo()).toEqual({
      apiUrl: `http://127.0.0.1:${port}`,
      tokenUrl: `http://127.0.0.1:${port + 1}/token`,
      clientId: 'demo-client',
      clientSecret: expect.stringMatching(/^[\w-]{32}$/),
      applicationId: expect.any(String),
      deviceId: expect.stringMatching(/^35\d{13}$/),
      deviceLinkUrl: `127.0.0.1:${port + 2}`,
      headsetKeyFile: join(dataDir, 'headset-key.json'),
      integratorUrl: `http://127.0.0.1:${port + 3}/callbacks`,
      authenticationKey: expect.any(String),
    });

    const token = line(first, 'TOKEN=');
    const { transactionId } = JSON.parse(await shell(`${token}\n${line(first, 'curl -s -X PUT')}`));
    expect(transactionId).toBeGreaterThan(0);
    const headsetLog = join(dataDir, 'logs', 'headset.log');
    await waitFor('the headset to print the extras, each digit of them', () =>
      readFileSync(headsetLog, 'utf8')
        .split('\n')
        .slice(0, -1)
        .some((l) => extrasIn(JSON.parse(l)) === '{"n":12345678901234567890}'),
    );
    const list = await waitFor('the command to end', async () => {
      const answer = JSON.parse(await shell(`${token}\n${line(first, 'curl -s "')}`));
      return answer.transactions[0].transactionStatus === 'processed' && answer.transactions;
    });
    expect(list[0]).toMatchObject({ transactionId, deviceId: demo().deviceId });

    // hc stores its login in the user's folder.
    const hc = `export XDG_CONFIG_HOME=${join(folder, 'config')}\n${line(first, 'HC=')}`;
    const logIn = `${hc}\n${line(first, '$HC login')}`;
    expect(await shell(logIn)).toContain(`application  ${demo().applicationId}\n`);
    expect(await shell(`${hc}\n${line(first, '$HC trigger')}`)).toMatch(/signature +rejected, as required\n/);
    expect(await shell(`${hc}\n${line(first, '$HC events')}`)).toContain(`tx-${transactionId}-processed`);

    const again = up({ DATA_DIR: dataDir });
    expect([await again.ended, again.output]).toEqual([
      2,
      expect.stringMatching(/The platform is running already \(process \d+\).*\nStop it with Ctrl-C/),
    ]);
    const sameport = up({ DATA_DIR: join(folder, 'other') });
    expect([await sameport.ended, sameport.output]).toEqual([
      2,
      expect.stringContaining(
        `Port ${port} (gateway) is taken. Stop the program that uses it, or choose other ports: make up PORT=`,
      ),
    ]);
    await stop(first);
  }, 180_000);

  it('continues from the stored state, on other ports and with the settings file that SETTINGS names', async () => {
    const before = demo();
    const file = join(folder, 'my.settings');
    const adminToken = 'a-token-for-this-test';
    writeFileSync(
      file,
      `# mine\nADMIN_TOKEN=${adminToken}\n\nLOG_LEVEL=warn\nNOTIFIER_BACKOFF_FIRST_MS=77\n`,
    );
    const second = up({ DATA_DIR: dataDir, PORT: String(otherPort), SETTINGS: file });
    await untilReady(second);
    expect(demo()).toEqual({
      ...before,
      apiUrl: `http://127.0.0.1:${otherPort}`,
      tokenUrl: `http://127.0.0.1:${otherPort + 1}/token`,
      deviceLinkUrl: `127.0.0.1:${otherPort + 2}`,
      integratorUrl: `http://127.0.0.1:${otherPort + 3}/callbacks`,
    });
    const list = JSON.parse(await shell(`${line(second, 'TOKEN=')}\n${line(second, 'curl -s "')}`));
    // Activation and command of both runs, and the pasted command.
    expect(list.transactions).toHaveLength(5);

    expect(second.output).toContain(
      `settings of ${file}: ADMIN_TOKEN, LOG_LEVEL (in place of info), NOTIFIER_BACKOFF_FIRST_MS\n`,
    );
    expect(second.output).not.toContain(adminToken);
    expect((await ctlWith(operators(), 'status')).exitCode).toBe(4);
    const status = await ctlWith({ ...operators(), ADMIN_TOKEN: adminToken }, '--json', 'status');
    expect(status.exitCode).toBe(0);
    // Each process of the platform has accepted the token.
    expect(status.out).not.toContain('answers 401');
    await stop(second);
  }, 180_000);

  // The logic of `make up` for its demo application does not depend on the stack.
  const itOnEmbedded = stack.kind === 'embedded' ? it : it.skip;

  itOnEmbedded(
    'keeps the settings of the user, and explains their consequences',
    async () => {
      const { applicationId, integratorUrl } = demo();
      const on = { DATA_DIR: dataDir, PORT: String(otherPort) };
      const ask = (run: Run, method: string, path: string, body?: object) =>
        shell(
          `${line(run, 'TOKEN=')}\ncurl -sf -X ${method} ${demo().apiUrl}/v1/applications/${applicationId}${path} ` +
            `-H "Authorization: Bearer $TOKEN" ${body ? `-H 'Content-Type: application/json' -d '${JSON.stringify(body)}'` : ''}`,
        );
      const set = up(on);
      await untilReady(set);
      await ask(set, 'PATCH', '', { deviceEvent: 'http://127.0.0.1:9/mine' });
      await stop(set);

      const elsewhere = up(on);
      await untilReady(elsewhere);
      expect(elsewhere.output).toContain('example calls skipped: deviceEvent is http://127.0.0.1:9/mine');
      await ask(elsewhere, 'PATCH', '', { deviceEvent: integratorUrl });
      const renewed = JSON.parse(await ask(elsewhere, 'POST', '/refresh_authkey')).authenticationKey;
      await stop(elsewhere);

      const refused = up(on);
      await untilReady(refused);
      const keyFile = join(dataDir, 'integrator.key');
      expect(refused.output).toContain(
        `activation: its callback arrived, but was signed with a key that is not in ${keyFile}: add the new key`,
      );
      const id = Number(/activation: 201, transaction (\d+)/.exec(refused.output)?.[1]);
      appendFileSync(keyFile, `\n${renewed}\n`);
      await waitFor(
        'the callback to be verified with the key that was added',
        () =>
          callbacksIn(join(dataDir, 'integrator.jsonl')).some(
            (c) => c.verified && c.body.transactionId === id && c.body.notificationType === 'processed',
          ),
        { timeoutMs: 60_000 },
      );

      // The application is removed while the platform runs.
      await ask(refused, 'DELETE', `/devices/${demo().deviceId}`);
      const forget = ['applications', 'forget', applicationId, '--reference', 'up-1', '--end-open'];
      const forgotten = await waitFor('the application to be forgotten', async () => {
        const answer = await ctlWith(operators(), ...forget);
        return answer.exitCode === 0 && answer;
      });
      expect(forgotten.out).toMatch(/devices +name and owner +1/);
      await stop(refused);
    },
    300_000,
  );

  itOnEmbedded(
    'creates a new application after ctl has forgotten the old one, and keeps the new one',
    async () => {
      const on = { DATA_DIR: dataDir, PORT: String(otherPort) };
      const { applicationId } = demo();
      const said = `application ${applicationId} was forgotten (ctl applications forget)`;
      const again = up(on);
      await untilReady(again);
      expect(again.output).toContain(
        `${said}, and its id cannot be used again: a new application is created`,
      );
      expect(again.output).toMatch(/command: its signed callback arrived and was verified/);
      const made = demo();
      expect(made.applicationId).not.toBe(applicationId);
      await stop(again);

      const third = up(on);
      await untilReady(third);
      expect(third.output).not.toContain('a new application is created');
      expect(demo()).toEqual(made);
      await stop(third);
    },
    300_000,
  );

  itOnEmbedded(
    'a folder of another platform, or with a damaged demo.json, gets a new demo',
    async () => {
      const elsewhere = join(folder, 'elsewhere');
      mkdirSync(elsewhere);
      writeFileSync(join(elsewhere, 'demo.json'), readFileSync(join(dataDir, 'demo.json')));
      const run = up({ DATA_DIR: elsewhere });
      await untilReady(run);
      await stop(run);
      const made = JSON.parse(readFileSync(join(elsewhere, 'demo.json'), 'utf8'));
      expect(made.applicationId).not.toBe(demo().applicationId);

      writeFileSync(join(elsewhere, 'demo.json'), '{"applicationId":');
      const fixed = up({ DATA_DIR: elsewhere });
      await untilReady(fixed);
      await stop(fixed);
    },
    180_000,
  );

  describe('reports the obstacle, and starts nothing', () => {
    const refused = async (run: Run): Promise<string> => {
      expect(await run.ended).toBe(2);
      return run.output;
    };

    it.each([
      ['STACK', 'reel', 'STACK=reel is unknown: make up STACK=embedded (the default) or STACK=real.'],
      ['PORT', '80x', 'PORT=80x is not a port from 1 to 64515: make up PORT=9080, for example.'],
      ['PORT', '65000', 'PORT=65000 is not a port from 1 to 64515'],
    ])('%s=%s', async (name, value, message) => {
      expect(await refused(up({ DATA_DIR: join(folder, 'none'), [name]: value }))).toContain(message);
    });

    it('settings that no process reads, that make up sets itself, or that are invalid', async () => {
      const file = join(folder, 'wrong.settings');
      const lines = [
        'LOG_LEVL=debug',
        'DATA_DIR=/elsewhere',
        'SECRET_KEY_FILE=/key',
        'LOG_LEVEL',
        'LOG_LEVEL=debug',
      ];
      writeFileSync(file, [...lines, 'LOG_LEVEL=info'].join('\n'));
      const output = await refused(up({ DATA_DIR: join(folder, 'none'), SETTINGS: file }));
      expect(output).toContain(
        [
          `${file}, line 1 sets LOG_LEVL, which no process reads: docs/configuration.md lists all settings.`,
          `${file}, line 2 sets DATA_DIR, which make up sets itself: the README names what can be chosen`,
        ].join('\n'),
      );
      expect(output).toContain(`${file}, line 3 sets SECRET_KEY_FILE, which make up sets itself`);
      expect(output).toContain(`${file}, line 4 is not KEY=VALUE, for example LOG_LEVEL=debug.`);
      expect(output).toContain(`${file}, line 6 sets LOG_LEVEL again.`);
      const missing = up({ DATA_DIR: join(folder, 'none'), SETTINGS: join(folder, 'missing') });
      expect(await refused(missing)).toMatch(/SETTINGS=\S+\/missing cannot be read: ENOENT/);
    });

    it('a folder that cannot be created', async () => {
      const file = join(folder, 'file');
      writeFileSync(file, '');
      expect(await refused(up({ DATA_DIR: join(file, 'data') }))).toMatch(
        /Cannot write to \S+\/file\/data: ENOTDIR.*: choose another folder: make up DATA_DIR=…/,
      );
    });

    it('a port that another program uses', async () => {
      const server: Server = createServer().listen(port + 5, '127.0.0.1');
      await once(server, 'listening');
      expect(await refused(up({ DATA_DIR: join(folder, 'none') }))).toContain(
        `Port ${port + 5} (sora) is taken.`,
      );
      server.close();
      await once(server, 'close');
    });

    const unshare = [['--user', '--map-root-user', '--mount'], ['--mount']]
      .map((flags) => ['unshare', ...flags])
      .find(([tool = '', ...flags]) => spawnSync(tool, [...flags, 'true']).status === 0);
    const onDisk = (options: string, directory: string) =>
      up({ DATA_DIR: directory }, [
        ...(unshare ?? []),
        ...['bash', '-c', `mount -t tmpfs -o ${options} tmpfs '${directory}' && exec "$@"`, 'bash'],
      ]);

    // If unshare is forbidden, nothing can be mounted.
    (unshare ? it : it.skip).each([
      [
        'full',
        'size=512k',
        /Cannot write to \S+: the disk is full: free some space, or choose another folder/,
      ],
      ['read-only', 'ro', /Cannot write to \S+: the disk is read-only: choose another folder/],
    ])(
      `a %s disk${unshare ? '' : ' (skipped: nothing can be mounted here)'}`,
      async (_, options, message) => {
        const disk = mkdtempSync(join(folder, 'disk-'));
        expect(await refused(onDisk(options, disk))).toMatch(message);
      },
    );

    /** A PATH with only the programs that the recipes themselves need. */
    const bare = (): NodeJS.ProcessEnv => {
      const bin = mkdtempSync(join(folder, 'bin-'));
      for (const tool of ['make', 'bash', 'env']) {
        symlinkSync(findProgram(tool) ?? tool, join(bin, tool));
      }
      return { HOME: folder, PATH: bin };
    };

    it('npm is missing', async () => {
      const checkout = mkdtempSync(join(folder, 'checkout-'));
      for (const file of ['Makefile', 'package.json', 'package-lock.json']) {
        mkdirSync(dirname(join(checkout, file)), { recursive: true });
        writeFileSync(join(checkout, file), readFileSync(join(root, file)));
      }
      expect(await refused(start(['make', 'up'], checkout, bare()))).toContain(
        'npm is missing: install Node.js 20 or newer',
      );
    });

    it('STACK=real without MongoDB, Kafka and Docker', async () => {
      const words = ['STACK=real', `DATA_DIR=${join(folder, 'none')}`, `PORT=${port}`];
      const run = start(['make', '-o', 'node_modules/.installed', 'up', ...words], root, bare());
      expect(await refused(run)).toMatch(
        /STACK=real needs MongoDB and Kafka: name them by MONGODB_URI and KAFKA_BROKERS, put the programs on PATH, or start Docker\.\nHere .*no Docker engine with Compose answers either/,
      );
    });
  });

  it('the ports are free again', async () => {
    for (const one of [port, otherPort]) expect(await isFree(one)).toBe(true);
  });
});
