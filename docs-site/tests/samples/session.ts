import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fill, type Guide, type Language, type Sample } from './extract.ts';
import { difference } from './match.ts';

/** Tools and files for a session. */
export interface SessionTools {
  /** `node_modules` folder with the packages that Node samples import. */
  readonly nodeModules?: string;
  /** Path of Python. */
  readonly python?: string;
  /** Folder with additional commands. */
  readonly commands?: string;
  /** Port on which the server of a sample listens. */
  readonly port?: number;
  readonly deadlineMs?: number;
  /** Files that the page expects in the reader's folder, by name. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

/** Result of a sample. */
export interface Outcome {
  readonly sample: Sample;
  /** Description of the failure; undefined if the sample did what the guide says. */
  readonly problem: string | undefined;
}

/** Separator between the outputs of two samples. No sample prints it. */
const separator = '\x1e';
const defaultDeadlineMs = 300_000;

const programs: Readonly<
  Record<Language, { file: string; begin: string; mark: (label: string) => string; end: string }>
> = {
  bash: { file: 'session.sh', begin: 'set -euo pipefail', mark: (l) => `printf '\\036${l}\\n'`, end: '' },
  js: { file: 'session.mjs', begin: '', mark: (l) => `process.stdout.write('\\x1e${l}\\n');`, end: '' },
  python: { file: 'session.py', begin: '', mark: (l) => `print('\\x1e${l}', flush=True)`, end: '' },
};

/**
 * Runs the samples of one guide and language in page order, as one program, and checks the output of each. A reader who
 * follows the page from top to bottom does the same.
 */
export async function runSession(
  guide: Guide,
  language: Language,
  values: Readonly<Record<string, string>>,
  tools: SessionTools = {},
): Promise<Outcome[]> {
  const samples = guide.samples.filter((s) => s.language === language && s.norun === undefined);
  const { begin, file, mark } = programs[language];
  const parts = samples.map(({ code }, index) => `${mark(`begin ${index}`)}\n${fill(code, values)}`);
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-samples-'));
  try {
    writeFileSync(join(folder, file), [begin, ...parts, mark('end'), ''].join('\n'));
    for (const [name, content] of Object.entries(tools.files ?? {}))
      writeFileSync(join(folder, name), content);
    if (tools.nodeModules) symlinkSync(tools.nodeModules, join(folder, 'node_modules'));
    const ended = await execute(folder, language, tools);
    return checkOutputs(guide, samples, values, ended);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  /** Reason of the failure; undefined if the program succeeded. */
  readonly failure: string | undefined;
}

function execute(folder: string, language: Language, tools: SessionTools): Promise<Ended> {
  const { file } = programs[language];
  const command = { bash: 'bash', js: process.execPath, python: tools.python ?? 'python3' }[language];
  const { PATH = '', HOME = '', TMPDIR } = process.env;
  const env = {
    // Programs store their files in the folder of the session.
    ...{ XDG_CONFIG_HOME: join(folder, '.config'), XDG_STATE_HOME: join(folder, '.state') },
    ...{
      PATH: tools.commands ? `${tools.commands}:${PATH}` : PATH,
      HOME,
      LANG: 'C.UTF-8',
      PYTHONUNBUFFERED: '1',
      PYTHONDONTWRITEBYTECODE: '1',
    },
    ...(TMPDIR && { TMPDIR }),
    ...(tools.port && { PORT: String(tools.port) }),
  };
  return new Promise((resolve, reject) => {
    // A separate process group, so that background processes of the sample can be ended too.
    const child = spawn(command, [file], {
      cwd: folder,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const deadlineMs = tools.deadlineMs ?? defaultDeadlineMs;
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      endGroup(child.pid);
    }, deadlineMs);
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    const leave = () => endGroup(child.pid);
    process.once('exit', leave);
    child.on('exit', () => {
      process.removeListener('exit', leave);
      endGroup(child.pid);
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      const failure = late
        ? `it did not end within ${deadlineMs / 1000} s`
        : code === 0
          ? undefined
          : `it ended with ${signal ?? `status ${code}`}`;
      resolve({ stdout, stderr, failure });
    });
  });
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has already ended.
  }
}

function checkOutputs(
  guide: Guide,
  samples: readonly Sample[],
  values: Readonly<Record<string, string>>,
  { stdout, stderr, failure }: Ended,
): Outcome[] {
  const printed = new Map<string, string>();
  for (const piece of stdout.split(separator).slice(1)) {
    const [label = '', ...lines] = piece.split('\n');
    printed.set(label, lines.join('\n'));
  }
  const isComplete = printed.has('end');
  const lastBegun = samples.findLastIndex((_, index) => printed.has(`begin ${index}`));
  return samples.map((sample, index) => {
    const output = printed.get(`begin ${index}`);
    const problem = () => {
      const isFailed =
        failure !== undefined &&
        (isComplete ? index === samples.length - 1 : index === Math.max(lastBegun, 0));
      if (isFailed) return `${failure}\n${output ?? ''}${stderr}`;
      if (output === undefined)
        return `not reached, because "${samples[Math.max(lastBegun, 0)]?.name}" failed`;
      const shown = guide.outputs.get(sample.name);
      return shown && difference({ ...shown, text: fill(shown.text, values) }, output);
    };
    return { sample, problem: problem() };
  });
}
