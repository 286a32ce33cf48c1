import { createRunner } from 'jest-light-runner';
import Tinypool from 'tinypool';

/**
 * jest-light-runner 0.8.2 loses workers on a slow machine. Each new worker requests its configuration once. The first
 * answer is sent to all workers with a task, also to workers that do not listen yet; their later requests get no answer.
 * So each task gets a separate channel here.
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
