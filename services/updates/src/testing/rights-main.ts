import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';

/** Reports the rights of a process that runs like a check. Started by checks/check-process.test.ts. */
const [, , file = '', port = ''] = process.argv;

function attempt(work: () => void): string {
  try {
    work();
    return 'allowed';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

const connected = await new Promise<string>((done) => {
  try {
    connect(Number(port), '127.0.0.1', () => done('allowed')).on('error', (error: NodeJS.ErrnoException) =>
      done(error.code ?? ''),
    );
  } catch (error) {
    done((error as NodeJS.ErrnoException).code ?? '');
  }
});
process.stdout.write(
  JSON.stringify({
    write: attempt(() => writeFileSync(file, '')),
    read: attempt(() => readFileSync('/etc/passwd')),
    start: attempt(() => execFileSync(process.execPath, ['--version'])),
    connect: connected,
  }),
);
process.exit();
