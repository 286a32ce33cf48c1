/**
 * Environment for npm, without the project's Node on PATH: npm reads the machine's settings (registry, certificates)
 * from the folder of the Node that runs it.
 */
export function npmEnvironment(): NodeJS.ProcessEnv {
  const path = (process.env['PATH'] ?? '').split(':').filter((one) => !one.endsWith('node_modules/.bin'));
  return { ...process.env, PATH: path.join(':') };
}
