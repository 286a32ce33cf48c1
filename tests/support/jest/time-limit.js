import { addEventHandler, getState } from 'jest-circus';

/**
 * For jest-light-runner, which has no time limits: a test or hook fails after its own limit or 60 s instead of blocking
 * the suite.
 */
const defaultMs = 60_000;

addEventHandler((event) => {
  const { children, hooks } = getState().currentDescribeBlock;
  if (event.name === 'add_test') limit(children.at(-1));
  if (event.name === 'add_hook') limit(hooks.at(-1));
});

function limit(added) {
  const { fn, timeout: limitMs = defaultMs } = added;
  // A skipped test may have no function.
  if (!fn) return;
  added.fn = async () => {
    const { promise, reject } = Promise.withResolvers();
    const timer = setTimeout(() => reject(new Error(`not done after ${limitMs} ms`)), limitMs);
    try {
      await Promise.race([fn(), promise]);
    } finally {
      clearTimeout(timer);
    }
  };
}
