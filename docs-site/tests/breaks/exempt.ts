/**
 * Checks that no seeded break or mutant can make fail, by file and name (`*`: all of the file), each with the reason.
 */
export const exempt: Readonly<Record<string, Readonly<Record<string, string>>>> = {};
