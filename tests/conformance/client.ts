import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Exchange } from './exchange.ts';
import { Broken } from './verdict.ts';

/** Maximum length of the kept client output, which is printed if a rule is broken; characters. */
const keptOutput = 4000;
/** Maximum number of restarts per rule of a client that exits without a kill. */
const maxUnexpectedEnds = 10;

/** One line of the effects file. */
export interface EffectLine {
  readonly transactionId: bigint;
  /** For a command: the text of each extra that the app received. */
  readonly extras?: Readonly<Record<string, string>>;
}

export interface ClientOptions {
  /** Command for /bin/sh. */
  readonly command: string;
  /** Called at each start; returns the client's environment. */
  env(): Readonly<Record<string, string>>;
  readonly effectsFile: string;
  readonly exchange: Exchange;
}

const groups = new Set<number>();
process.on('exit', () => {
  for (const group of groups) killGroup(group);
});

/** The process group of the client under test. */
export class Client {
  output = '';
  #child: ChildProcess | undefined;
  #wanted = false;
  #ends = 0;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Starts the client. A client that exits without a kill, for example after a reset, is restarted. */
  start(): void {
    this.#wanted = true;
    this.#options.exchange.note('starts the client');
    const child = spawn('/bin/sh', ['-c', this.#options.command], {
      detached: true,
      env: { ...process.env, ...this.#options.env() },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    const { pid } = child;
    if (pid !== undefined) groups.add(pid);
    const keep = (data: Buffer) => {
      this.output = (this.output + data.toString()).slice(-keptOutput);
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    child.stdin?.on('error', () => {});
    child.on('error', (error) => keep(Buffer.from(error.message)));
    child.on('exit', (code, signal) => {
      if (pid !== undefined) groups.delete(pid);
      if (this.#child !== child || !this.#wanted) return;
      this.#ends += 1;
      this.#options.exchange.note(`the client has exited: ${signal ?? code}`);
      if (this.#ends <= maxUnexpectedEnds) setTimeout(() => this.#wanted && this.start(), 100);
    });
  }

  /** True if the client has exited too often and is not restarted. */
  get gaveUp(): boolean {
    return this.#ends > maxUnexpectedEnds;
  }

  /** Sends SIGKILL to the process group and resolves when the client has exited. */
  async kill(): Promise<void> {
    this.#wanted = false;
    const child = this.#child;
    if (!child?.pid) return;
    if (child.exitCode !== null || child.signalCode !== null) return killGroup(child.pid);
    this.#options.exchange.note('kills the client');
    const gone = new Promise((resolve) => child.once('exit', resolve));
    killGroup(child.pid);
    await gone;
  }

  /** Suspends the process group, like a sleeping headset. `wake` resumes it. */
  suspend(): void {
    this.#options.exchange.note('suspends the client');
    this.#signal('SIGSTOP');
  }

  wake(): void {
    this.#options.exchange.note('resumes the client');
    this.#signal('SIGCONT');
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid !== undefined) process.kill(-pid, signal);
  }

  async restart(): Promise<void> {
    await this.kill();
    this.start();
  }

  /** Requests an action of the client: writes a JSON line to its standard input. */
  request(action: Readonly<Record<string, unknown>>): void {
    const line = JSON.stringify(action);
    this.#options.exchange.note(`requests from the client: ${line}`);
    this.#child?.stdin?.write(`${line}\n`);
  }

  /** The complete lines of the effects file, in order. */
  effects(): readonly EffectLine[] {
    let text: string;
    try {
      text = readFileSync(this.#options.effectsFile, 'utf8');
    } catch {
      return [];
    }
    return text.split('\n').slice(0, -1).filter(Boolean).map(effectLine);
  }
}

function effectLine(line: string): EffectLine {
  try {
    const { transactionId, extras } = JSON.parse(line);
    return { transactionId: BigInt(transactionId), ...(extras && { extras }) };
  } catch (error) {
    throw new Broken(`a line of the effects file is invalid: ${line} (${(error as Error).message})`);
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended already.
  }
}
