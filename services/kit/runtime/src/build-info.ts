import kit from '../package.json' with { type: 'json' };

/** The platform's version, of the package that all processes share. */
export const platformVersion = (): string => kit.version;
