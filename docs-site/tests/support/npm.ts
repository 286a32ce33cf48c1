/**
 * The environment for npm: it reads the machine's settings (registry, certificates) from beside the Node
 * that runs it, which must not be the project's.
 */
export function npmEnvironment(): NodeJS.ProcessEnv {
  const path = (process.env['PATH'] ?? '').split(':').filter((one) => !one.endsWith('node_modules/.bin'));
  return { ...process.env, PATH: path.join(':') };
}
