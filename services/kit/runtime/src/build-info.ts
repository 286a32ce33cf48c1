import kit from '../package.json' with { type: 'json' };

/** Returns the platform's version: the version of this package, which all processes share. */
export const platformVersion = (): string => kit.version;
