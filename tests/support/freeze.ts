import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';

/**
 * Sends SIGSTOP and resolves when every thread of the process has stopped. Before that, a thread on another processor
 * can still answer a call. On systems without threads in /proc, resolves immediately after the signal.
 */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return;
  await waitFor('every thread to stop', () => readdirSync(tasks).every((task) => stands(`${tasks}/${task}`)));
}

function stands(task: string): boolean {
  try {
    // The state follows the name, which is in brackets and may contain any characters (proc_pid_stat(5)).
    return readFileSync(`${task}/stat`, 'utf8').split(') ').at(-1)?.[0] === 'T';
  } catch {
    // The thread has ended.
    return true;
  }
}
