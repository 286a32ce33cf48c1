import { createRunner } from 'jest-light-runner';
import Tinypool from 'tinypool';

/**
 * jest-light-runner 0.8.2 loses workers when the machine is slow. Each new worker asks once for its
 * configuration; the first answer goes to all workers that have a task, also to those that do not listen
 * yet, and what these ask later is not answered. So each task gets a channel of its own here.
 */
const run = Tinypool.prototype.run;

Tinypool.prototype.run = function (task, options) {
  if (!options?.channel) return run.call(this, task, options);
  const { workerData } = this.options;
  let answer = () => {};
  const channel = {
    onMessage(listener) {
      answer = listener;
    },
    postMessage(message) {
      if (message !== 'jest-light-runner-get-worker-data') return;
      answer({ type: 'jest-light-runner-worker-data', workerData });
    },
  };
  return run.call(this, task, { ...options, channel });
};

export default createRunner({ runtime: 'child_process' });
