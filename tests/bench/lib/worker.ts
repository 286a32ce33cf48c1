import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';

/**
 * The bench's processes and their commands: the load, the baselines and the simulated surroundings each run in
 * their own process, like the platform.
 */
// biome-ignore lint/suspicious/noExplicitAny: each worker's commands have their own shapes
export type Commands = Readonly<Record<string, (argument: any) => Promise<unknown>>>;

export interface Worker<C extends Commands> {
  readonly pid: number;
  /** Calls a command in the worker's process. Rejects with the command's error, or if the process has ended. */
  call<K extends keyof C & string>(
    command: K,
    argument: Parameters<C[K]>[0],
  ): Promise<Awaited<ReturnType<C[K]>>>;
  stop(): Promise<void>;
}

interface Question {
  readonly id: number;
  readonly command: string;
  readonly argument: unknown;
}
type Answer = { readonly id: number } & ({ readonly value: unknown } | { readonly error: string });

const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** Starts a worker; `file` is relative to tests/bench. With a `profileDir` it writes its CPU profile there. */
export function startWorker<C extends Commands>(file: string, profileDir?: string): Worker<C> {
  const child = fork(join(import.meta.dirname, '..', file), {
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      ...(profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : []),
    ],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  alive.add(child);
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let lastId = 0;
  child.on('message', (answer: Answer) => {
    const question = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('error' in answer) question?.reject(new Error(`${file}: ${answer.error}`));
    else question?.resolve(answer.value);
  });
  const exited = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      alive.delete(child);
      for (const { reject } of waiting.values()) reject(new Error(`${file} ended: ${signal ?? code}`));
      waiting.clear();
      resolve();
    });
  });
  return {
    pid: child.pid ?? 0,
    call(command, argument) {
      lastId += 1;
      const question: Question = { id: lastId, command, argument };
      return new Promise((resolve, reject) => {
        waiting.set(question.id, { resolve: resolve as (value: unknown) => void, reject });
        child.send(question, (error) => {
          if (error) reject(error);
        });
      });
    },
    async stop() {
      // The worker exits when its channel closes; a worker that hangs is killed.
      if (child.connected) child.disconnect();
      const late = setTimeout(() => child.kill('SIGKILL'), 5000);
      await exited;
      clearTimeout(late);
    },
  };
}

/** The worker's side: answers commands until the bench disconnects. */
export function serveCommands(commands: Commands): void {
  process.on('message', ({ id, command, argument }: Question) => {
    const work = commands[command];
    const answer = (a: Answer) => void process.send?.(a);
    if (!work) answer({ id, error: `no command ${command}` });
    else {
      work(argument).then(
        (value) => answer({ id, value }),
        (error: Error) => answer({ id, error: error.stack ?? error.message }),
      );
    }
  });
  process.once('disconnect', () => process.exit(0));
}
