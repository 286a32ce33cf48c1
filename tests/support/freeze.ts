import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';

/**
 * SIGSTOP; resolves when every thread of the process stands: until then one on another processor may still answer a
 * call. Where the system shows no threads in /proc, it has only been sent.
 */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return;
  await waitFor('every thread to stand', () =>
    readdirSync(tasks).every((task) => stands(`${tasks}/${task}`)),
  );
}

function stands(task: string): boolean {
  try {
    // The state is one letter behind the name, which is in brackets and may contain anything (proc_pid_stat(5)).
    return readFileSync(`${task}/stat`, 'utf8').split(') ').at(-1)?.[0] === 'T';
  } catch {
    // The thread has ended.
    return true;
  }
}
