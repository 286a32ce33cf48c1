import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Exchange } from './exchange.ts';
import { Broken } from './verdict.ts';

/** How much of the client's output is kept, to be shown when a rule is broken; characters. */
const keptOutput = 4000;
/** A client that ends by itself this often during one rule is not started again. */
const endsForgiven = 10;

/** One line of the effects file. */
export interface EffectLine {
  readonly transactionId: bigint;
  /** For a command: each extra as the app got it. */
  readonly extras?: Readonly<Record<string, string>>;
}

export interface ClientOptions {
  /** For /bin/sh. */
  readonly command: string;
  /** Called at each start, because the address is known only then. */
  env(): Readonly<Record<string, string>>;
  readonly effectsFile: string;
  readonly exchange: Exchange;
}

const groups = new Set<number>();
process.on('exit', () => {
  for (const group of groups) killGroup(group);
});

/** The client under test: a process group that is started, spoken to and killed. */
export class Client {
  output = '';
  #child: ChildProcess | undefined;
  #wanted = false;
  #ends = 0;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Starts it; one that ends by itself (after a reset, say) is started again. */
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
      this.#options.exchange.note(`the client ended by itself: ${signal ?? code}`);
      if (this.#ends <= endsForgiven) setTimeout(() => this.#wanted && this.start(), 100);
    });
  }

  /** True when it ended by itself so often that it is not started again. */
  get gaveUp(): boolean {
    return this.#ends > endsForgiven;
  }

  /** kill -9 to the whole group; resolves when the process is gone. */
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

  /** Suspends the whole group, as when the headset sleeps; `wake` lets it run again. */
  suspend(): void {
    this.#options.exchange.note('suspends the client');
    this.#signal('SIGSTOP');
  }

  wake(): void {
    this.#options.exchange.note('lets the client run again');
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

  /** Tells the client to do something by itself: a JSON line on its standard input. */
  tell(action: Readonly<Record<string, unknown>>): void {
    const line = JSON.stringify(action);
    this.#options.exchange.note(`tells the client ${line}`);
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
    // It is gone already.
  }
}
